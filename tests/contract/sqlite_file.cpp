// The file: whose it is, whether it is still the same, what a crash leaves, how large the log gets,
// a full disk.

#include "support/plain_sqlite.hpp"
#include "support/store_fixture.hpp"
#include "support/temp_dir.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

using streamld::store::errc;
using streamld::store::offset_t;
using streamld::store::open_options;
using streamld::tests::fails_with;
using streamld::tests::in_time;
using streamld::tests::plain_sqlite;
using streamld::tests::store_fixture;
using streamld::tests::temp_dir;

namespace {

struct fresh_file {
    temp_dir directory;
    std::string path = directory.file("store.db");

    void open_and_close() { store_fixture opened("sqlite:" + path); }

    [[nodiscard]] bool is_refused() {
        return fails_with(errc::foreign, [&] { open_and_close(); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(contract_sqlite_file, fresh_file)

// ---------------------------------------------------------------- whose it is

BOOST_AUTO_TEST_CASE(urls_of_all_forms_open_the_same_file) {
    store_fixture("sqlite:" + path).publish("a", "1");

    BOOST_TEST(store_fixture("sqlite://" + path).publish("a", "2") == 2);
    BOOST_TEST(store_fixture(path).publish("a", "3") == 3);
    BOOST_TEST(fails_with(errc::foreign, [] { store_fixture opened("sqlite:"); }));
    BOOST_TEST(fails_with(errc::foreign, [] { store_fixture opened("sqlite::memory:"); }));
}

BOOST_AUTO_TEST_CASE(text_file_is_refused_and_untouched) {
    const std::string text(5000, 'x');
    std::ofstream(path) << text;

    BOOST_TEST(is_refused());

    BOOST_TEST(std::filesystem::file_size(path) == text.size());
}

BOOST_AUTO_TEST_CASE(database_of_another_application_is_refused) {
    plain_sqlite(path).run("PRAGMA application_id = 77; CREATE TABLE theirs (x)");

    BOOST_TEST(is_refused());

    BOOST_TEST(plain_sqlite(path).value("SELECT count(*) FROM sqlite_schema") == "1");
}

BOOST_AUTO_TEST_CASE(own_application_database_is_shared_and_keeps_its_marks) {
    plain_sqlite(path).run(
        "PRAGMA user_version = 9; CREATE TABLE ours (x); INSERT INTO ours VALUES (1)"
    );

    store_fixture(path).publish("a", "1");

    plain_sqlite after(path);
    BOOST_TEST(after.value("PRAGMA user_version") == "9");
    BOOST_TEST(after.value("PRAGMA application_id") == "0");
    BOOST_TEST(after.value("SELECT x FROM ours") == "1");
}

BOOST_AUTO_TEST_CASE(utf16_database_is_refused) {
    plain_sqlite(path).run("PRAGMA encoding = 'UTF-16le'; CREATE TABLE ours (x)");

    BOOST_TEST(is_refused());
}

BOOST_AUTO_TEST_CASE(newer_schema_is_refused_with_both_versions) {
    open_and_close();
    plain_sqlite(path).run("UPDATE streamld_meta SET value = 99 WHERE key = 'schema_version'");

    try {
        open_and_close();
        BOOST_ERROR("opened a newer schema");
    } catch (const streamld::store::error& fault) {
        BOOST_CHECK(fault.which() == errc::foreign);
        BOOST_TEST(fault.detail().find("99") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(directory_that_is_not_there_is_unavailable) {
    BOOST_TEST(fails_with(errc::unavailable, [&] {
        store_fixture opened("sqlite:" + directory.file("no/store.db"));
    }));
}

BOOST_AUTO_TEST_CASE(file_of_ours_is_marked) {
    open_and_close();

    plain_sqlite after(path);
    BOOST_TEST(after.value("PRAGMA application_id") != "0");
    BOOST_TEST(after.value("PRAGMA journal_mode") == "wal");
    BOOST_TEST(after.value("SELECT value FROM streamld_meta WHERE key = 'schema_version'") == "1");
}

// ---------------------------------------------------------------- still the same

BOOST_AUTO_TEST_CASE(replaced_file_stops_everything_and_is_reported) {
    open_options options;
    options.poll_interval = std::chrono::milliseconds(50);
    store_fixture store("sqlite:" + path, options);
    store.publish("a", "1");
    std::filesystem::rename(path, directory.file("moved.db"));
    std::ofstream(path) << "";

    BOOST_TEST(store.observer.wait(std::chrono::seconds(5), [&] {
        const auto troubles = store.observer.troubles();
        return !troubles.empty() && troubles.front() == errc::foreign;
    }));

    BOOST_TEST(fails_with(errc::foreign, [&] { store.publish("a", "2"); }));
    BOOST_TEST(fails_with(errc::foreign, [&] { store.read_all("a"); }));
    BOOST_TEST(fails_with(errc::foreign, [&] { store.loop.await(store.engine().probe(in_time())); })
    );
    BOOST_TEST(std::filesystem::file_size(path) == 0U);
}

BOOST_AUTO_TEST_CASE(write_into_a_removed_file_is_not_acknowledged) {
    open_options options;
    options.poll_interval = std::chrono::minutes(5);
    store_fixture store("sqlite:" + path, options);
    store.publish("a", "1");

    std::filesystem::remove(path);

    BOOST_TEST(fails_with(errc::foreign, [&] { store.publish("a", "2"); }));
}

// ---------------------------------------------------------------- trimmed rows

BOOST_AUTO_TEST_CASE(rows_that_a_crash_left_behind_a_trim_go_at_the_next_open) {
    {
        store_fixture store("sqlite:" + path);
        for (int i = 0; i < 3; ++i)
            store.publish_many("a", 1000);
        store.publish_many("b", 5);
    }
    plain_sqlite client(path);
    client.run("UPDATE streamld_stream SET horizon = 2990 WHERE name = 'a'");

    store_fixture store("sqlite:" + path);

    BOOST_TEST(store.observer.wait(std::chrono::seconds(20), [&] {
        return client.value("SELECT count(*) FROM streamld_event") == "15";
    }));
    BOOST_TEST(store.read_all("a").events.size() == 10U);
}

BOOST_AUTO_TEST_CASE(trimmed_rows_are_deleted_in_the_background) {
    store_fixture store("sqlite:" + path);
    for (int i = 0; i < 3; ++i)
        store.publish_many("a", 1000);
    plain_sqlite client(path);

    store.trim("a", 2999);

    BOOST_TEST(store.observer.wait(std::chrono::seconds(20), [&] {
        return client.value("SELECT count(*) FROM streamld_event") == "1";
    }));
}

BOOST_AUTO_TEST_CASE(old_tokens_go_with_their_events_and_young_ones_stay) {
    store_fixture store("sqlite:" + path);
    plain_sqlite client(path);
    for (const char* token : {"old", "young", "kept"}) {
        auto request = streamld::tests::one_event("a", "1");
        request.idempotency_key = token;
        store.append(std::move(request));
    }
    client.run(
        "UPDATE streamld_idempotency SET created_at = created_at - 90000 WHERE token <> 'young'"
    );

    store.trim("a", 2);

    BOOST_TEST(store.observer.wait(std::chrono::seconds(20), [&] {
        return client.value("SELECT group_concat(token) FROM (SELECT token FROM "
                            "streamld_idempotency ORDER BY token)") == "kept,young";
    }));
}

// ---------------------------------------------------------------- the log

BOOST_AUTO_TEST_CASE(log_stays_bounded_under_overlapping_readers) {
    open_options options;
    options.wal_bytes_max = std::size_t{8} << 20;
    store_fixture store("sqlite:" + path, options);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            streamld::tests::run_loop loop;
            while (!is_over.load()) {
                streamld::store::read_request request;
                request.stream = "a";
                loop.await(store.engine().read(std::move(request), in_time()));
            }
        });
    }
    std::uint64_t largest = 0;
    const std::string payload = "\"" + std::string(16'000, 'x') + "\"";
    for (int i = 0; i < 200; ++i) {
        streamld::store::append_request request;
        request.stream = "a";
        for (int k = 0; k < 16; ++k)
            request.events.emplace_back(payload);
        store.append(std::move(request));
        largest = std::max(largest, store.engine().figures().log_bytes);
    }
    is_over.store(true);
    for (auto& reader : readers)
        reader.join();

    BOOST_TEST(store.engine().figures().store_bytes > (std::uint64_t{40} << 20));
    // One group may still come while the log starts over.
    BOOST_TEST(largest < (std::uint64_t{24} << 20));
    BOOST_TEST(store.observer.wait(std::chrono::seconds(30), [&] {
        return store.engine().figures().log_bytes <= options.wal_bytes_max;
    }));
}

BOOST_AUTO_TEST_CASE(log_is_empty_after_close) {
    open_and_close();

    BOOST_TEST(
        (!std::filesystem::exists(path + "-wal") || std::filesystem::file_size(path + "-wal") == 0)
    );
}

// ---------------------------------------------------------------- other holders of the lock

BOOST_AUTO_TEST_CASE(publish_behind_a_held_lock_meets_its_deadline_and_recovers) {
    store_fixture store("sqlite:" + path);
    store.publish("a", "1");
    plain_sqlite client(path);
    client.run("BEGIN IMMEDIATE");
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);

    BOOST_TEST(fails_with(errc::busy, [&] {
        store.loop.await(store.engine().append(streamld::tests::one_event("a", "2"), soon));
    }));
    client.run("COMMIT");

    BOOST_TEST(store.publish("a", "2") == 2);
    BOOST_TEST(store.read_all("a").events.size() == 2U);
}

// ---------------------------------------------------------------- no space

#ifdef __linux__
// A file of its own that cannot grow past its size; needs the right to mount, so it is skipped
// without.
BOOST_AUTO_TEST_CASE(full_disk_refuses_publishes_and_recovers_by_itself) {
    const std::string mounted = directory.file("small");
    std::filesystem::create_directory(mounted);
    if (streamld::tests::run_command("mount -t tmpfs -o size=4m none '" + mounted + "'").status !=
        0) {
        BOOST_TEST_MESSAGE("skipped: no right to mount");
        return;
    }
    {
        store_fixture store("sqlite:" + mounted + "/store.db");
        const std::string payload = "\"" + std::string(50'000, 'x') + "\"";
        offset_t acknowledged = 0;
        errc refusal{};
        try {
            for (int i = 0; i < 1000; ++i)
                acknowledged = store.publish("a", payload);
        } catch (const streamld::store::error& fault) {
            refusal = fault.which();
        }
        BOOST_CHECK(refusal == errc::full);
        BOOST_TEST(store.read_all("a").events.size() == static_cast<std::size_t>(acknowledged));
        BOOST_TEST(fails_with(errc::full, [&] { store.publish("a", payload); }));
        BOOST_TEST(fails_with(errc::full, [&] {
            store.loop.await(store.engine().probe(in_time()));
        }));

        streamld::tests::run_command("mount -o remount,size=32m '" + mounted + "'");

        BOOST_TEST(store.publish("a", payload) == acknowledged + 1);
        BOOST_TEST(!store.observer.troubles().empty());
        BOOST_CHECK(!store.observer.troubles().back().failed());
        store.loop.await(store.engine().probe(in_time()));
    }
    streamld::tests::run_command("umount '" + mounted + "'");
}
#endif

BOOST_AUTO_TEST_SUITE_END()
