#pragma once
// Writing JSON without building values: appends to a string that the caller owns. Any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace streamld {

/// Appends `text` as a JSON string with its quotes; control characters are escaped, everything else
/// is kept.
void append_json_string(std::string& out, std::string_view text);

void append_integer(std::string& out, std::int64_t value);

/// `{"a":1,...}` one member at a time, in the order of the calls. close() ends the object.
class json_object {
public:
    explicit json_object(std::string& out) : out_(out) { out_ += '{'; }

    json_object& text(std::string_view name, std::string_view value);
    json_object& number(std::string_view name, std::int64_t value);
    json_object& boolean(std::string_view name, bool value);
    json_object& raw(std::string_view name, std::string_view json); // `json` as it stands.

    void close() { out_ += '}'; }

private:
    void begin(std::string_view name);
    std::string& out_;
    bool is_first_ = true;
};

} // namespace streamld
