#pragma once
// Tells the observer of background trouble once when it begins and once when it ends. One thread
// each.

#include "store/engine.hpp"

namespace streamld::store {

class trouble_report {
public:
    explicit trouble_report(store_observer& observer) noexcept : observer_(&observer) {}

    void raise(const error& fault) noexcept { raise(fault, fault.detail()); }

    /// `what`: words for the log, where it may have more than clients are told.
    void raise(const error& fault, std::string_view what) noexcept {
        if (current_ == fault.code()) return;
        current_ = fault.code();
        observer_->trouble(current_, what);
    }

    void clear() noexcept {
        if (!current_.failed()) return;
        current_ = {};
        observer_->trouble(current_, "the store works again");
    }

private:
    store_observer* observer_;
    boost::system::error_code current_;
};

} // namespace streamld::store
