#include "store/postgres/query.hpp"

#include "store/errors.hpp"

#include <utility>

namespace streamld::store::postgres {

namespace {

// Array elements carry their length; this one says NULL.
constexpr std::uint32_t null_length = 0xFFFF'FFFF;

// Postgres' wire format is big-endian.
template <class Unsigned>
void put(std::string& to, Unsigned number) {
    for (int shift = static_cast<int>(sizeof number) * 8 - 8; shift >= 0; shift -= 8)
        to.push_back(static_cast<char>((number >> shift) & 0xFF));
}

type_oid array_of(type_oid element) {
    switch (element) {
    case type_oid::boolean:
        return type_oid::boolean_array;
    case type_oid::bytes:
        return type_oid::bytes_array;
    case type_oid::int4:
        return type_oid::int4_array;
    case type_oid::int8:
        return type_oid::int8_array;
    default:
        return type_oid::text_array;
    }
}

} // namespace

// ---------------------------------------------------------------- arrays

array_builder::array_builder(type_oid element) : element_(element) {}

void array_builder::add_null() {
    put(bytes_, null_length);
    has_null_ = true;
    ++count_;
}

void array_builder::add(std::string_view bytes) {
    put(bytes_, static_cast<std::uint32_t>(bytes.size()));
    bytes_.append(bytes);
    ++count_;
}

void array_builder::add(std::int64_t number) {
    put(bytes_, std::uint32_t{8});
    put(bytes_, static_cast<std::uint64_t>(number));
    ++count_;
}

void array_builder::add(std::int32_t number) {
    put(bytes_, std::uint32_t{4});
    put(bytes_, static_cast<std::uint32_t>(number));
    ++count_;
}

void array_builder::add(bool flag) {
    put(bytes_, std::uint32_t{1});
    bytes_.push_back(flag ? '\1' : '\0');
    ++count_;
}

std::string array_builder::take() && {
    std::string whole;
    whole.reserve(20 + bytes_.size());
    // An empty array has no dimension.
    put(whole, std::uint32_t{count_ > 0 ? 1U : 0U});
    put(whole, std::uint32_t{has_null_ ? 1U : 0U});
    put(whole, static_cast<std::uint32_t>(element_));
    if (count_ > 0) {
        put(whole, count_);
        put(whole, std::uint32_t{1}); // The first subscript.
    }
    whole += bytes_;
    bytes_ = {};
    count_ = 0;
    return whole;
}

// ---------------------------------------------------------------- query

query::query(std::string sql, answer_format format) : sql_(std::move(sql)), format_(format) {
    // libpq takes a C string: the part behind a NUL would silently not be run.
    if (sql_.find('\0') != std::string::npos)
        throw error(errc::statement, "the statement contains a NUL byte");
}

query& query::text(std::string_view value) & {
    parameters_.push_back({type_oid::text, false, true, std::string(value)});
    return *this;
}

query& query::bytes(std::string_view value) & {
    parameters_.push_back({type_oid::bytes, false, true, std::string(value)});
    return *this;
}

query& query::integer(std::int64_t value) & {
    std::string wire;
    put(wire, static_cast<std::uint64_t>(value));
    parameters_.push_back({type_oid::int8, false, true, std::move(wire)});
    return *this;
}

query& query::small(std::int32_t value) & {
    std::string wire;
    put(wire, static_cast<std::uint32_t>(value));
    parameters_.push_back({type_oid::int4, false, true, std::move(wire)});
    return *this;
}

query& query::boolean(bool value) & {
    parameters_.push_back({type_oid::boolean, false, true, std::string(1, value ? '\1' : '\0')});
    return *this;
}

query& query::array(array_builder&& values) & {
    const type_oid type = array_of(values.element());
    parameters_.push_back({type, false, true, std::move(values).take()});
    return *this;
}

query& query::null(type_oid type) & {
    parameters_.push_back({type, true, true, {}});
    return *this;
}

query& query::inferred(std::string_view value) & {
    // As above: text parameters end at their first NUL.
    if (value.find('\0') != std::string_view::npos)
        throw error(errc::invalid_payload, "a text contains a NUL byte");
    parameters_.push_back({type_oid::inferred, false, false, std::string(value)});
    return *this;
}

} // namespace streamld::store::postgres
