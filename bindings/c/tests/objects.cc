// The classes of inlay.hpp. Built by several compilers, standard libraries and modes against one library.
#include "inlay.hpp"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

template <class Work>
inlay_status failure(Work work) {
  try {
    work();
  } catch (const inlay::Error &error) {
    CHECK(std::string(error.what()).find(error.message()) == 0);
    return error.status();
  }
  return INLAY_OK;
}

int main() {
  inlay::Database db(":memory:", {{"threads", "2"}});
  inlay::Connection con(db);
  CHECK(con.setting("threads") == "2" && db.path() == ":memory:");
  con.execute("CREATE TABLE trips (id INTEGER, city VARCHAR, fare DECIMAL(8, 2), at TIMESTAMP)");
  inlay::Appender appender(con, "trips");
  for (int id = 0; id < 5000; id++) {
    appender.row(id, id % 2 == 0 ? "Delft" : "Utrecht", id / 4.0, inlay_timestamp{{2024, 1, 1}, {12, 0, 0, 0}});
  }
  appender.row(5000, std::optional<std::string>(), nullptr, std::nullopt);
  CHECK(appender.close() == 5001);

  auto result = con.query("SELECT count(*), max(fare), min(city), max(at) FROM trips WHERE id < ? AND city = ?", 100, "Delft");
  CHECK(result->value<int32_t>(0, 0) == 50);
  CHECK(result->value<double>(0, 1) == 24.5);
  CHECK(result->value<std::string>(0, 2) == "Delft");
  CHECK(result->value<inlay_timestamp>(0, 3).time.hour == 12);
  CHECK(result.column_name(0) != "" && result.column_count() == 4 && result.row_count() == 1);
  CHECK(con.query("SELECT city FROM trips WHERE id = 5000").value<std::optional<std::string>>(0, 0) == std::nullopt);
  bool is_narrow = false;
  try {
    con.query("SELECT 300")->value<int8_t>(0, 0);
  } catch (const std::out_of_range &) {
    is_narrow = true;
  }
  CHECK(is_narrow);

  int64_t sum = 0;
  std::size_t rows = 0;
  auto streamed = con.query("SELECT id, city FROM trips");
  for (inlay::Chunk &chunk : streamed.chunks()) {
    const auto ids = chunk.column(0).values<int32_t>();
    sum = std::accumulate(ids.begin(), ids.end(), sum);
    for (std::size_t row = 0; row < chunk.size(); row++) {
      rows += chunk.column(1).is_null(row) ? 0 : chunk.column(1).text(row).size() > 4;
    }
  }
  CHECK(sum == 5000 * 5001 / 2 && rows == 5000);

  // Results are shared, and outlive what they are of.
  std::optional<inlay::Result> kept;
  {
    inlay::Connection other(db);
    kept = other.query("SELECT range * 2 AS n FROM range(10)");
    CHECK(failure([&] { other.query("SELECT nope"); }) == INLAY_ERROR_UNDEFINED_COLUMN);
  }
  const inlay::Result copy = *kept;
  kept.reset();
  CHECK(copy.column(0).values<int64_t>()[9] == 18);

  auto tried = con.try_query("SELECT 1 +");
  CHECK(!tried && tried.error().status() == INLAY_ERROR_SYNTAX && tried.error().sqlstate() == "42601");
  CHECK(con.try_query("SELECT 7")->value<int>(0, 0) == 7);

  {
    inlay::Transaction transaction(con);
    con.execute("DELETE FROM trips");
  }
  CHECK(con.query("SELECT count(*) FROM trips")->value<int64_t>(0, 0) == 5001);
  inlay::Transaction transaction(con);
  con.execute("DELETE FROM trips WHERE id >= 10");
  transaction.commit();
  CHECK(!con.in_transaction());

  auto statement = con.prepare("SELECT city FROM trips WHERE id = $id");
  CHECK(statement.bind("id", 3).execute()->value<std::string>(0, 0) == "Utrecht");
  CHECK(statement.execute(4)->value<std::string>(0, 0) == "Delft");
  CHECK(failure([&] { statement.bind(7, 1); }) == INLAY_ERROR_INVALID_ARGUMENT);

  auto pending = con.start("SELECT sum(range) FROM range(100000)");
  while (!pending.wait(5)) (void)pending.progress();
  CHECK(pending.finish()->value<int64_t>(0, 0) == 4999950000);

  inlay::Appender columns(con, "trips");
  const std::vector<int32_t> ids{100, 101};
  const std::vector<const char *> cities{"Leiden", nullptr};
  const std::vector<double> fares{1.5, 2.5};
  const std::vector<const char *> moments{"2024-01-01 00:00:00", "2024-01-02"};
  columns.columns({inlay::array_of(ids), inlay::array_of(cities), inlay::array_of(fares), inlay::array_of(moments)});
  CHECK(columns.close() == 2);

  ArrowArrayStream stream;
  con.query("FROM trips").arrow_stream(&stream);
  con.register_arrow("again", &stream);
  CHECK(con.query("SELECT count(*) FROM again")->value<int64_t>(0, 0) == 12);
  CHECK(con.unregister("again") && !con.unregister("again"));

  auto lists = con.query("SELECT [1, 2, 3] AS l UNION ALL SELECT [4]");
  auto parts = lists.column_chunk(0).parts(0);
  CHECK(parts.size() == 4 && parts.offsets()[1] == 3 && parts.column(0).values<int32_t>()[3] == 4);
  std::puts("all classes work");
}
