#pragma once
// One statement with its parameters, in the binary format of Postgres' extended protocol. A value:
// it owns its bytes. The type numbers (OIDs) of built-in types are fixed for all servers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace streamld::store::postgres {

enum class type_oid : std::uint32_t {
    inferred = 0, // The server works it out; the parameter is sent as text.
    boolean = 16,
    bytes = 17,
    int8 = 20,
    int4 = 23,
    text = 25,
    boolean_array = 1000,
    bytes_array = 1001,
    int4_array = 1007,
    text_array = 1009,
    int8_array = 1016,
};

/// Builds an array parameter of one dimension. `element` is the type of its members.
class array_builder {
public:
    explicit array_builder(type_oid element);

    void add_null();
    void add(std::string_view bytes); // text, bytes
    void add(std::int64_t number);    // int8
    void add(std::int32_t number);    // int4
    void add(bool flag);              // boolean

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

    [[nodiscard]] type_oid element() const noexcept { return element_; }

    /// The array in the binary format; the builder is spent.
    [[nodiscard]] std::string take() &&;

private:
    type_oid element_;
    std::uint32_t count_ = 0;
    bool has_null_ = false;
    std::string bytes_;
};

struct parameter {
    type_oid type = type_oid::inferred;
    bool is_null = false;
    bool is_binary = true;
    std::string bytes;
};

/// How the server writes the columns of the answer.
enum class answer_format { text = 0, binary = 1 };

class query {
public:
    /// `sql` is one statement with $1, $2, ... in the order of the calls below.
    explicit query(std::string sql, answer_format format = answer_format::binary);

    query& text(std::string_view value) &;
    query& bytes(std::string_view value) &;
    query& integer(std::int64_t value) &; // int8
    query& small(std::int32_t value) &;   // int4
    query& boolean(bool value) &;
    query& array(array_builder&& values) &;
    query& null(type_oid type) &;
    query& inferred(std::string_view value) &; // As text; the server decides the type.

    [[nodiscard]] const std::string& sql() const noexcept { return sql_; }

    [[nodiscard]] const std::vector<parameter>& parameters() const noexcept { return parameters_; }

    [[nodiscard]] answer_format format() const noexcept { return format_; }

private:
    std::string sql_;
    answer_format format_;
    std::vector<parameter> parameters_;
};

} // namespace streamld::store::postgres
