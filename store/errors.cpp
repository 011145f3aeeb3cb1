#include "store/errors.hpp"

namespace streamld::store {

namespace {

const char* text_of(errc code) noexcept {
    switch (code) {
    case errc::invalid_name:
        return "invalid name";
    case errc::invalid_cursor:
        return "invalid cursor";
    case errc::invalid_payload:
        return "invalid payload";
    case errc::too_large:
        return "too large";
    case errc::codec:
        return "payload cannot be decoded";
    case errc::unknown_stream:
        return "unknown stream";
    case errc::precondition:
        return "the head is not the expected one";
    case errc::idempotency_conflict:
        return "the idempotency key was used for another publish";
    case errc::consumers_behind:
        return "a consumer's saved offset is below the new horizon";
    case errc::busy:
        return "the store is busy";
    case errc::unavailable:
        return "the store cannot be reached or written";
    case errc::full:
        return "no space left";
    case errc::corrupt:
        return "the store is damaged";
    case errc::foreign:
        return "not a usable streamld store";
    case errc::closed:
        return "the store is closed";
    case errc::statement:
        return "the caller's statement failed";
    }
    return "unknown store error";
}

class category final : public boost::system::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "streamld.store"; }

    [[nodiscard]] std::string message(int value) const override {
        return text_of(static_cast<errc>(value));
    }
};

} // namespace

const boost::system::error_category& store_category() noexcept {
    static const category instance;
    return instance;
}

boost::system::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), store_category()};
}

error::error(errc code, const std::string& detail, std::optional<std::int64_t> head)
    : system_error(make_error_code(code), detail), detail_(detail), head_(head) {}

} // namespace streamld::store
