// inlay.hpp: Inlay for C++17, a header over the C functions of inlay.h.
//
// Nothing of std:: crosses the library's edge, so any compiler, standard library and mode of building goes with any build of the
// library. Each class owns one handle: it can be moved, not copied, and frees the handle at its end. Handles keep what they need, so
// objects may go in any order. Functions throw inlay::Error; those called try_... give an inlay::Expected instead.
//
//     inlay::Database db("trips.inlay");
//     inlay::Connection con(db);
//     auto result = con.query("SELECT count(*) FROM trips WHERE fare > ?", 10.5);
//     auto count = result->value<int64_t>(0, 0);
#ifndef INLAY_HPP
#define INLAY_HPP

#include "inlay.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace inlay {

// Why a function failed.
class Error : public std::exception {
 public:
  // Takes over the error.
  explicit Error(inlay_error *error)
      : status_(inlay_error_status(error)),
        text_(text(inlay_error_text(error))),
        message_(text(inlay_error_message(error))),
        sqlstate_(text(inlay_error_sqlstate(error))),
        hint_(text(inlay_error_hint(error))),
        detail_(text(inlay_error_detail(error))),
        line_(inlay_error_line(error)),
        column_(inlay_error_column(error)),
        offset_(inlay_error_offset(error)),
        retryable_(inlay_error_is_retryable(error)) {
    inlay_error_free(&error);
  }

  const char *what() const noexcept override { return text_.c_str(); }
  inlay_status status() const noexcept { return status_; }
  const std::string &message() const noexcept { return message_; }
  const std::string &sqlstate() const noexcept { return sqlstate_; }
  // Empty if there is none.
  const std::string &hint() const noexcept { return hint_; }
  const std::string &detail() const noexcept { return detail_; }
  // Where it is in the statement's text, from 1; 0 if that is not known.
  uint32_t line() const noexcept { return line_; }
  uint32_t column() const noexcept { return column_; }
  uint32_t offset() const noexcept { return offset_; }
  bool is_retryable() const noexcept { return retryable_; }

 private:
  static std::string text(const char *from) { return from == nullptr ? std::string() : std::string(from); }

  inlay_status status_;
  std::string text_, message_, sqlstate_, hint_, detail_;
  uint32_t line_, column_, offset_;
  bool retryable_;
};

// A value, or why there is none.
template <class T>
class Expected {
 public:
  Expected(T value) : held_(std::move(value)) {}
  Expected(Error error) : held_(std::move(error)) {}

  bool has_value() const noexcept { return std::holds_alternative<T>(held_); }
  explicit operator bool() const noexcept { return has_value(); }
  // Throws the error if there is no value.
  T &value() {
    if (!has_value()) throw std::get<Error>(held_);
    return std::get<T>(held_);
  }
  T &operator*() { return value(); }
  T *operator->() { return &value(); }
  const Error &error() const { return std::get<Error>(held_); }

 private:
  std::variant<T, Error> held_;
};

namespace detail {

// Calls a function whose last argument is where an error goes, and throws that.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  inlay_error *error = nullptr;
  if (function(arguments..., &error) != INLAY_OK) throw Error(error);
}

// What `work` gives, or the error that it throws.
template <class Work>
auto tried(Work work) -> Expected<decltype(work())> {
  try {
    return work();
  } catch (const Error &error) {
    return error;
  }
}

// A handle, and how it is freed.
template <class T, void (*Free)(T **)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T *handle) : handle_(handle) {}
  Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    if (this != &other) {
      Free(&handle_);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() { Free(&handle_); }

  T *get() const noexcept { return handle_; }
  // Where a function puts a handle.
  T **place() {
    Free(&handle_);
    return &handle_;
  }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  T *handle_ = nullptr;
};

inline std::string taken(char *text) {
  std::unique_ptr<char, void (*)(char *)> owned(text, [](char *held) { inlay_text_free(&held); });
  return text == nullptr ? std::string() : std::string(text);
}

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
inline constexpr bool always_false = false;

}  // namespace detail

// Values that lie behind each other, of somebody else.
template <class T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;
  using iterator = T *;

  Span() = default;
  Span(T *data, std::size_t size) : data_(data), size_(size) {}

  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }
  T &operator[](std::size_t index) const { return data_[index]; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// The layout that values of a type have.
template <class T>
constexpr bool fits(inlay_layout layout) {
  switch (layout) {
    case INLAY_LAYOUT_BOOL: return std::is_same_v<T, bool> || std::is_same_v<T, uint8_t>;
    case INLAY_LAYOUT_INT8: return std::is_same_v<T, int8_t>;
    case INLAY_LAYOUT_INT16: return std::is_same_v<T, int16_t>;
    case INLAY_LAYOUT_INT32: return std::is_same_v<T, int32_t>;
    case INLAY_LAYOUT_INT64: return std::is_same_v<T, int64_t>;
    case INLAY_LAYOUT_UINT8: return std::is_same_v<T, uint8_t>;
    case INLAY_LAYOUT_UINT16: return std::is_same_v<T, uint16_t>;
    case INLAY_LAYOUT_UINT32: return std::is_same_v<T, uint32_t>;
    case INLAY_LAYOUT_UINT64: return std::is_same_v<T, uint64_t>;
    case INLAY_LAYOUT_FLOAT: return std::is_same_v<T, float>;
    case INLAY_LAYOUT_DOUBLE: return std::is_same_v<T, double>;
    case INLAY_LAYOUT_INT128:
    case INLAY_LAYOUT_UINT128: return std::is_same_v<T, inlay_int128>;
    case INLAY_LAYOUT_INTERVAL: return std::is_same_v<T, inlay_interval>;
    case INLAY_LAYOUT_BYTES: return std::is_same_v<T, inlay_bytes>;
    default: return false;
  }
}

// A column as it lies in memory; whose it is must stay.
class Column {
 public:
  explicit Column(const inlay_array &array) : array_(array) {}

  const inlay_array &array() const noexcept { return array_; }
  std::size_t size() const noexcept { return array_.count; }
  inlay_type_id type() const noexcept { return array_.type_id; }
  int scale() const noexcept { return array_.scale; }
  bool has_nulls() const noexcept { return array_.validity != nullptr; }
  bool is_null(std::size_t row) const noexcept {
    return array_.validity != nullptr && (array_.validity[row / 64] >> (row % 64) & 1) == 0;
  }

  // The values, of the type that lies there; another one is an error.
  template <class T>
  Span<const T> values() const {
    if (!fits<T>(array_.layout)) throw std::invalid_argument("the values of this column are of another type");
    return Span<const T>(static_cast<const T *>(array_.data), array_.count);
  }

  // A text, or bytes; empty for NULL.
  std::string_view text(std::size_t row) const {
    const inlay_bytes bytes = values<inlay_bytes>()[row];
    return bytes.data == nullptr ? std::string_view() : std::string_view(bytes.data, bytes.size);
  }

 private:
  inlay_array array_;
};

// Some rows as columns. It needs nothing else to be there.
class Chunk {
 public:
  explicit Chunk(inlay_chunk *chunk) : handle_(chunk) {}

  inlay_chunk *get() const noexcept { return handle_.get(); }
  std::size_t size() const noexcept { return inlay_chunk_row_count(get()); }
  std::size_t column_count() const noexcept { return inlay_chunk_column_count(get()); }
  Column column(std::size_t index) const {
    inlay_array array{};
    detail::call(inlay_chunk_view, get(), index, &array);
    return Column(array);
  }
  // What a nested column is made of; see inlay_chunk_parts.
  Chunk parts(std::size_t index) const {
    inlay_chunk *made = nullptr;
    detail::call(inlay_chunk_parts, get(), index, &made);
    return Chunk(made);
  }
  // Of parts of lists and maps: where those of each row begin, and the end of the last.
  const uint32_t *offsets() const noexcept { return inlay_chunk_offsets(get()); }
  const uint8_t *tags() const noexcept { return inlay_chunk_tags(get()); }

 private:
  detail::Handle<inlay_chunk, inlay_chunk_free> handle_;
};

// The answer of a statement. `result->f()` is `result.f()`. Copies share it.
class Result {
 public:
  // Takes over a result.
  explicit Result(inlay_result *result) : handle_(result) {}
  Result(const Result &other) : handle_(other.handle_) { inlay_result_retain(handle_); }
  Result(Result &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Result &operator=(Result other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Result() { inlay_result_release(&handle_); }

  Result *operator->() noexcept { return this; }
  const Result *operator->() const noexcept { return this; }
  inlay_result *get() const noexcept { return handle_; }

  inlay_result_kind kind() const noexcept { return inlay_result_get_kind(handle_); }
  // "INSERT 0 3".
  std::string tag() const { return inlay_result_tag(handle_); }
  // -1 for a statement that changes no rows.
  int64_t changed_rows() const noexcept { return inlay_result_changed_rows(handle_); }
  std::size_t column_count() const noexcept { return inlay_result_column_count(handle_); }
  std::size_t row_count() const {
    std::size_t count = 0;
    detail::call(inlay_result_row_count, handle_, &count);
    return count;
  }
  std::string column_name(std::size_t column) const {
    const char *name = inlay_result_column_name(handle_, column);
    return name == nullptr ? std::string() : std::string(name);
  }
  inlay_type_id column_type(std::size_t column) const noexcept {
    return inlay_result_column_type(handle_, column);
  }

  bool is_null(std::size_t row, std::size_t column) const noexcept {
    return inlay_value_is_null(handle_, row, column);
  }

  // A value: a number, bool, std::string, inlay_date, inlay_time, inlay_timestamp, inlay_interval, inlay_decimal or inlay_int128, or
  // std::optional of one, which is empty for NULL. NULL is what inlay_value_... gives otherwise.
  template <class T>
  T value(std::size_t row, std::size_t column) const {
    if constexpr (detail::is_optional<T>::value) {
      // An error that there is no such value comes from the value.
      const auto found = value<typename T::value_type>(row, column);
      if (is_null(row, column)) return std::nullopt;
      return found;
    } else if constexpr (std::is_same_v<T, bool>) {
      return get_by(inlay_value_bool, row, column, false);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return narrowed<T>(get_by(inlay_value_int64, row, column, int64_t{0}), row, column);
    } else if constexpr (std::is_integral_v<T>) {
      return narrowed<T>(get_by(inlay_value_uint64, row, column, uint64_t{0}), row, column);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(get_by(inlay_value_double, row, column, 0.0));
    } else if constexpr (std::is_same_v<T, std::string>) {
      const char *text = nullptr;
      std::size_t size = 0;
      detail::call(inlay_value_text, handle_, row, column, &text, &size);
      return text == nullptr ? std::string() : std::string(text, size);
    } else if constexpr (std::is_same_v<T, inlay_date>) {
      return get_by(inlay_value_date, row, column, inlay_date{});
    } else if constexpr (std::is_same_v<T, inlay_time>) {
      return get_by(inlay_value_time, row, column, inlay_time{});
    } else if constexpr (std::is_same_v<T, inlay_timestamp>) {
      return get_by(inlay_value_timestamp, row, column, inlay_timestamp{});
    } else if constexpr (std::is_same_v<T, inlay_interval>) {
      return get_by(inlay_value_interval, row, column, inlay_interval{});
    } else if constexpr (std::is_same_v<T, inlay_decimal>) {
      return get_by(inlay_value_decimal, row, column, inlay_decimal{});
    } else if constexpr (std::is_same_v<T, inlay_int128>) {
      return get_by(inlay_value_int128, row, column, inlay_int128{});
    } else {
      static_assert(detail::always_false<T>, "no value of this type is in a result");
    }
  }

  // A column of all rows as it lies in memory, for as long as this result, or a copy of it, is there.
  Column column(std::size_t index) const {
    inlay_array array{};
    detail::call(inlay_column_view, handle_, index, &array);
    return Column(array);
  }
  // The same as a chunk of its own, for nested columns.
  Chunk column_chunk(std::size_t index) const {
    inlay_chunk *made = nullptr;
    detail::call(inlay_result_column_chunk, handle_, index, &made);
    return Chunk(made);
  }

  // The next rows; empty behind the last.
  std::optional<Chunk> next_chunk() {
    inlay_chunk *chunk = nullptr;
    detail::call(inlay_result_next_chunk, handle_, &chunk);
    return chunk == nullptr ? std::optional<Chunk>() : std::optional<Chunk>(Chunk(chunk));
  }

  // for (inlay::Chunk &chunk : result.chunks()) ...
  class Chunks {
   public:
    class iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = Chunk;
      using difference_type = std::ptrdiff_t;
      using pointer = Chunk *;
      using reference = Chunk &;

      iterator() = default;
      explicit iterator(Result *result) : result_(result) { ++*this; }
      Chunk &operator*() { return *chunk_; }
      Chunk *operator->() { return &*chunk_; }
      iterator &operator++() {
        chunk_ = result_->next_chunk();
        if (!chunk_) result_ = nullptr;
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(const iterator &other) const { return result_ == other.result_; }
      bool operator!=(const iterator &other) const { return result_ != other.result_; }

     private:
      Result *result_ = nullptr;
      std::optional<Chunk> chunk_;
    };

    explicit Chunks(Result *result) : result_(result) {}
    iterator begin() const { return iterator(result_); }
    iterator end() const { return iterator(); }

   private:
    Result *result_;
  };
  Chunks chunks() { return Chunks(this); }

  // The rows as a stream of Arrow's C interface, whose release the caller calls.
  void arrow_stream(ArrowArrayStream *stream) { detail::call(inlay_result_arrow_stream, handle_, stream); }

 private:
  template <class Function, class T>
  T get_by(Function function, std::size_t row, std::size_t column, T found) const {
    detail::call(function, handle_, row, column, &found);
    return found;
  }

  template <class T, class Wide>
  T narrowed(Wide wide, std::size_t row, std::size_t column) const {
    if (static_cast<Wide>(static_cast<T>(wide)) != wide) {
      throw std::out_of_range("the value of row " + std::to_string(row) + ", column " + std::to_string(column) +
                              " is out of the range of its type in C++");
    }
    return static_cast<T>(wide);
  }

  inlay_result *handle_;
};

// Settings that a database is opened with.
using Config = std::initializer_list<std::pair<const char *, const char *>>;

// A database that is open.
class Database {
 public:
  // A new one in memory.
  Database() : Database(std::string()) {}
  explicit Database(const std::string &path, Config settings = {}) {
    detail::Handle<inlay_config, inlay_config_free> config;
    detail::call(inlay_config_new, config.place());
    for (const auto &[name, value] : settings) detail::call(inlay_config_set, config.get(), name, value);
    detail::call(inlay_open, path.c_str(), static_cast<const inlay_config *>(config.get()), handle_.place());
  }

  inlay_database *get() const noexcept { return handle_.get(); }
  std::string path() const {
    char *text = nullptr;
    detail::call(inlay_database_path, get(), &text);
    return detail::taken(text);
  }
  uint64_t memory_used() const noexcept { return inlay_database_memory_used(get()); }
  void backup(const std::string &path) const { detail::call(inlay_database_backup, get(), path.c_str()); }

 private:
  detail::Handle<inlay_database, inlay_close> handle_;
};

class Connection;

// A statement that is read once and run many times.
class Statement {
 public:
  inline Statement(Connection &connection, const std::string &sql);

  inlay_statement *get() const noexcept { return handle_.get(); }
  std::size_t parameter_count() const noexcept { return inlay_parameter_count(get()); }

  // Binds a value to a parameter, from 1: a number, bool, text, one of the structs of inlay.h, nullptr for NULL, or an optional.
  template <class T>
  Statement &bind(std::size_t parameter, const T &value) {
    if constexpr (detail::is_optional<T>::value) {
      if (value) return bind(parameter, *value);
      return bind(parameter, nullptr);
    } else if constexpr (std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::nullopt_t>) {
      detail::call(inlay_bind_null, get(), parameter);
    } else if constexpr (std::is_same_v<T, bool>) {
      detail::call(inlay_bind_bool, get(), parameter, value);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if constexpr (sizeof(T) == 1) detail::call(inlay_bind_int8, get(), parameter, static_cast<int8_t>(value));
      if constexpr (sizeof(T) == 2) detail::call(inlay_bind_int16, get(), parameter, static_cast<int16_t>(value));
      if constexpr (sizeof(T) == 4) detail::call(inlay_bind_int32, get(), parameter, static_cast<int32_t>(value));
      if constexpr (sizeof(T) == 8) detail::call(inlay_bind_int64, get(), parameter, static_cast<int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (sizeof(T) == 1) detail::call(inlay_bind_uint8, get(), parameter, static_cast<uint8_t>(value));
      if constexpr (sizeof(T) == 2) detail::call(inlay_bind_uint16, get(), parameter, static_cast<uint16_t>(value));
      if constexpr (sizeof(T) == 4) detail::call(inlay_bind_uint32, get(), parameter, static_cast<uint32_t>(value));
      if constexpr (sizeof(T) == 8) detail::call(inlay_bind_uint64, get(), parameter, static_cast<uint64_t>(value));
    } else if constexpr (std::is_same_v<T, float>) {
      detail::call(inlay_bind_float, get(), parameter, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      detail::call(inlay_bind_double, get(), parameter, static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
      const std::string_view text(value);
      detail::call(inlay_bind_text, get(), parameter, text.data(), text.size());
    } else if constexpr (std::is_same_v<T, inlay_date>) {
      detail::call(inlay_bind_date, get(), parameter, value);
    } else if constexpr (std::is_same_v<T, inlay_time>) {
      detail::call(inlay_bind_time, get(), parameter, value);
    } else if constexpr (std::is_same_v<T, inlay_timestamp>) {
      detail::call(inlay_bind_timestamp, get(), parameter, value);
    } else if constexpr (std::is_same_v<T, inlay_interval>) {
      detail::call(inlay_bind_interval, get(), parameter, value);
    } else if constexpr (std::is_same_v<T, inlay_decimal>) {
      detail::call(inlay_bind_decimal, get(), parameter, value);
    } else if constexpr (std::is_same_v<T, inlay_int128>) {
      detail::call(inlay_bind_int128, get(), parameter, value);
    } else if constexpr (std::is_same_v<T, inlay_bytes>) {
      detail::call(inlay_bind_blob, get(), parameter, value.data, value.size);
    } else {
      static_assert(detail::always_false<T>, "no value of this type can be bound");
    }
    return *this;
  }

  // Binds a value to the parameter of a name, without the dollar.
  template <class T>
  Statement &bind(const std::string &name, const T &value) {
    const std::size_t parameter = inlay_parameter_index(get(), name.c_str());
    // The library says that there is no parameter 0; the name says more.
    if (parameter == 0) throw std::out_of_range("the statement has no parameter $" + name);
    return bind(parameter, value);
  }

  // Runs it with these values for its parameters, or with those that are bound if there are none.
  template <class... Values>
  Result execute(const Values &...values) {
    std::size_t parameter = 0;
    (bind(++parameter, values), ...);
    inlay_result *result = nullptr;
    detail::call(inlay_statement_query, get(), &result);
    return Result(result);
  }

  template <class... Values>
  Expected<Result> try_execute(const Values &...values) {
    return detail::tried([&] { return execute(values...); });
  }

  void clear() { detail::call(inlay_clear_bindings, get()); }

 private:
  detail::Handle<inlay_statement, inlay_statement_free> handle_;
};

// A statement that runs by itself. One that is not finished is given up.
class Pending {
 public:
  // Takes over a statement that was started.
  explicit Pending(inlay_pending *pending) : handle_(pending) {}
  Pending(Pending &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Pending &operator=(Pending &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Pending(const Pending &) = delete;
  Pending &operator=(const Pending &) = delete;
  ~Pending() { inlay_pending_free(&handle_); }

  // Waits for some time; whether it has ended.
  bool wait(uint64_t milliseconds) const noexcept { return inlay_pending_wait(handle_, milliseconds); }
  std::optional<inlay_progress> progress() const noexcept {
    inlay_progress found{};
    if (!inlay_pending_progress(handle_, &found)) return std::nullopt;
    return found;
  }
  void interrupt() const noexcept { inlay_pending_interrupt(handle_); }
  // Waits for the answer.
  Result finish() {
    inlay_result *result = nullptr;
    detail::call(inlay_pending_finish, &handle_, &result);
    return Result(result);
  }

 private:
  inlay_pending *handle_;
};

// A session of a database.
class Connection {
 public:
  explicit Connection(const Database &database) { detail::call(inlay_connect, database.get(), handle_.place()); }

  inlay_connection *get() const noexcept { return handle_.get(); }

  // Runs the statements of a text; with values, one statement with these parameters.
  template <class... Values>
  Result query(const std::string &sql, const Values &...values) {
    if constexpr (sizeof...(Values) > 0) {
      return Statement(*this, sql).execute(values...);
    } else {
      inlay_result *result = nullptr;
      detail::call(inlay_query, get(), sql.c_str(), &result);
      return Result(result);
    }
  }
  template <class... Values>
  Expected<Result> try_query(const std::string &sql, const Values &...values) {
    return detail::tried([&] { return query(sql, values...); });
  }
  // Runs the statements of a text; how many rows the last one changed.
  uint64_t execute(const std::string &sql) {
    uint64_t changed = 0;
    detail::call(inlay_execute, get(), sql.c_str(), &changed);
    return changed;
  }
  Statement prepare(const std::string &sql) { return Statement(*this, sql); }
  Pending start(const std::string &sql) {
    inlay_pending *pending = nullptr;
    detail::call(inlay_start, get(), sql.c_str(), &pending);
    return Pending(pending);
  }

  void begin() { detail::call(inlay_begin, get()); }
  void commit() { detail::call(inlay_commit, get()); }
  void rollback() { detail::call(inlay_rollback, get()); }
  bool in_transaction() const noexcept { return inlay_in_transaction(get()); }
  void set(const std::string &name, const std::string &value) {
    detail::call(inlay_set, get(), name.c_str(), value.c_str());
  }
  std::string setting(const std::string &name) const {
    char *text = nullptr;
    detail::call(inlay_get, get(), name.c_str(), &text);
    return detail::taken(text);
  }
  // From any thread: ends what runs.
  void interrupt() const noexcept { inlay_interrupt(get()); }

  // Makes the rows of an Arrow stream, which is released, a table.
  void register_arrow(const std::string &name, ArrowArrayStream *stream) {
    detail::call(inlay_register_arrow, get(), name.c_str(), stream);
  }
  bool unregister(const std::string &name) {
    bool found = false;
    detail::call(inlay_unregister, get(), name.c_str(), &found);
    return found;
  }

 private:
  detail::Handle<inlay_connection, inlay_disconnect> handle_;
};

inline Statement::Statement(Connection &connection, const std::string &sql) {
  detail::call(inlay_prepare, connection.get(), sql.c_str(), handle_.place());
}

// A transaction, which is rolled back at its end unless it was committed.
class Transaction {
 public:
  explicit Transaction(Connection &connection) : connection_(&connection) { connection.begin(); }
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  ~Transaction() {
    if (connection_ != nullptr && connection_->in_transaction()) inlay_rollback(connection_->get(), nullptr);
  }
  void commit() { std::exchange(connection_, nullptr)->commit(); }
  void rollback() { std::exchange(connection_, nullptr)->rollback(); }

 private:
  Connection *connection_;
};

// Collects rows for a table, which are there when it is closed; what was not closed is forgotten.
class Appender {
 public:
  Appender(Connection &connection, const std::string &table) : Appender(connection, nullptr, table) {}
  Appender(Connection &connection, const char *schema, const std::string &table) {
    detail::call(inlay_appender_new, connection.get(), schema, table.c_str(), &handle_);
  }
  Appender(Appender &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Appender &operator=(Appender &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Appender(const Appender &) = delete;
  Appender &operator=(const Appender &) = delete;
  ~Appender() { inlay_appender_free(&handle_); }

  // Adds a row.
  template <class... Values>
  Appender &row(const Values &...values) {
    (push(values), ...);
    detail::call(inlay_appender_end_row, handle_);
    return *this;
  }

  // Adds the next value of a row; see Statement::bind.
  template <class T>
  Appender &push(const T &value) {
    if constexpr (detail::is_optional<T>::value) {
      if (value) return push(*value);
      return push(nullptr);
    } else if constexpr (std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, std::nullopt_t>) {
      detail::call(inlay_append_null, handle_);
    } else if constexpr (std::is_same_v<T, bool>) {
      detail::call(inlay_append_bool, handle_, value);
    } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
      detail::call(inlay_append_uint64, handle_, static_cast<uint64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      detail::call(inlay_append_int64, handle_, static_cast<int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      detail::call(inlay_append_double, handle_, static_cast<double>(value));
    } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
      const std::string_view text(value);
      detail::call(inlay_append_text, handle_, text.data(), text.size());
    } else if constexpr (std::is_same_v<T, inlay_date>) {
      detail::call(inlay_append_date, handle_, value);
    } else if constexpr (std::is_same_v<T, inlay_time>) {
      detail::call(inlay_append_time, handle_, value);
    } else if constexpr (std::is_same_v<T, inlay_timestamp>) {
      detail::call(inlay_append_timestamp, handle_, value);
    } else if constexpr (std::is_same_v<T, inlay_interval>) {
      detail::call(inlay_append_interval, handle_, value);
    } else if constexpr (std::is_same_v<T, inlay_decimal>) {
      detail::call(inlay_append_decimal, handle_, value);
    } else if constexpr (std::is_same_v<T, inlay_bytes>) {
      detail::call(inlay_append_blob, handle_, value.data, value.size);
    } else {
      static_assert(detail::always_false<T>, "no value of this type can be appended");
    }
    return *this;
  }

  // Adds the rows of arrays, one for each column.
  void columns(const std::vector<inlay_array> &arrays) {
    detail::call(inlay_appender_columns, handle_, arrays.data(), arrays.size());
  }
  void flush() { detail::call(inlay_appender_flush, handle_); }
  // Flushes it; how many rows went into the table.
  uint64_t close() {
    uint64_t appended = 0;
    detail::call(inlay_appender_close, &handle_, &appended);
    return appended;
  }

 private:
  inlay_appender *handle_ = nullptr;
};

// Numbers as an array for Appender::columns; the values must stay meanwhile.
template <class T>
inlay_array array_of(const std::vector<T> &values) {
  inlay_array array{};
  if constexpr (std::is_same_v<T, int8_t>) array.type_id = INLAY_TYPE_TINYINT;
  else if constexpr (std::is_same_v<T, int16_t>) array.type_id = INLAY_TYPE_SMALLINT;
  else if constexpr (std::is_same_v<T, int32_t>) array.type_id = INLAY_TYPE_INTEGER;
  else if constexpr (std::is_same_v<T, int64_t>) array.type_id = INLAY_TYPE_BIGINT;
  else if constexpr (std::is_same_v<T, uint8_t>) array.type_id = INLAY_TYPE_UTINYINT;
  else if constexpr (std::is_same_v<T, uint16_t>) array.type_id = INLAY_TYPE_USMALLINT;
  else if constexpr (std::is_same_v<T, uint32_t>) array.type_id = INLAY_TYPE_UINTEGER;
  else if constexpr (std::is_same_v<T, uint64_t>) array.type_id = INLAY_TYPE_UBIGINT;
  else if constexpr (std::is_same_v<T, float>) array.type_id = INLAY_TYPE_REAL;
  else if constexpr (std::is_same_v<T, double>) array.type_id = INLAY_TYPE_DOUBLE;
  else if constexpr (std::is_same_v<T, inlay_bytes>) array.type_id = INLAY_TYPE_VARCHAR;
  else if constexpr (std::is_same_v<T, const char *>) {
    array.type_id = INLAY_TYPE_VARCHAR;
    array.layout = INLAY_LAYOUT_STRINGS;
  } else static_assert(detail::always_false<T>, "no array of this type can be appended");
  array.width = sizeof(T);
  array.count = values.size();
  array.data = values.data();
  return array;
}

}  // namespace inlay

#endif
