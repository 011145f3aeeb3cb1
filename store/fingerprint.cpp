#include "store/fingerprint.hpp"

#include <array>
#include <memory>
#include <openssl/evp.h>

namespace streamld::store {

namespace {

struct context_deleter {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

class digest {
public:
    digest() : context_(EVP_MD_CTX_new()) {
        if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) fail();
    }

    void add_number(std::uint64_t number) {
        std::array<unsigned char, 8> bytes{};
        for (auto& byte : bytes) {
            byte = static_cast<unsigned char>(number & 0xFFU);
            number >>= 8U;
        }
        add_raw(bytes.data(), bytes.size());
    }

    // The length in front keeps ("ab", "c") and ("a", "bc") apart.
    void add(std::string_view bytes) {
        add_number(bytes.size());
        add_raw(bytes.data(), bytes.size());
    }

    std::string finish() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
        unsigned size = 0;
        if (EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) != 1) fail();
        return {bytes.begin(), bytes.begin() + size};
    }

private:
    [[noreturn]] static void fail() { throw error(errc::unavailable, "no SHA-256 here"); }

    void add_raw(const void* bytes, std::size_t size) {
        if (EVP_DigestUpdate(context_.get(), bytes, size) != 1) fail();
    }

    std::unique_ptr<EVP_MD_CTX, context_deleter> context_;
};

} // namespace

std::string fingerprint_of(const append_request& request) {
    digest sum;
    sum.add(request.content_type);
    sum.add_number(request.is_batch ? 1 : 0);
    sum.add_number(request.events.size());
    for (const auto& event : request.events) {
        sum.add_number(event.key ? 1 : 0);
        sum.add(event.key.value_or(std::string()));
        sum.add_number(event.is_snapshot ? 1 : 0);
        sum.add(event.payload);
    }
    return sum.finish();
}

} // namespace streamld::store
