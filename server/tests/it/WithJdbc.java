// What Java's driver of PostgreSQL reads, writes and asks the catalog. `java -cp postgresql.jar WithJdbc.java PORT SCHEMA`

import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

public class WithJdbc {
    static void same(String what, Object is, Object expected) {
        if (!Objects.equals(is, expected)) {
            throw new AssertionError(what + " is " + is + " and not " + expected);
        }
    }

    static String rows(ResultSet rows, int... columns) throws SQLException {
        List<String> all = new ArrayList<>();
        while (rows.next()) {
            List<String> row = new ArrayList<>();
            for (int column : columns) {
                row.add(rows.getString(column));
            }
            all.add(String.join(",", row));
        }
        return String.join(" ", all);
    }

    static void metadata(Connection connection, String schema) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        same("product", data.getDatabaseProductName() + " " + data.getDatabaseMajorVersion(), "PostgreSQL 15");
        same("tables", rows(data.getTables(null, schema, "%", new String[] {"TABLE"}), 3, 4), "child,TABLE parent,TABLE");
        same("columns", rows(data.getColumns(null, schema, "parent", null), 4, 6, 11), "id,int4,0 name,varchar,0 price,numeric,1 tags,_varchar,1 at,timestamptz,1");
        same("primary key", rows(data.getPrimaryKeys(null, schema, "parent"), 4, 5, 6), "id,1,parent_pkey");
        String key = "parent,id,child,pid,1,3,0,child_pid_fkey,parent_pkey";
        same("imported keys", rows(data.getImportedKeys(null, schema, "child"), 3, 4, 7, 8, 9, 10, 11, 12, 13), key);
        same("exported keys", rows(data.getExportedKeys(null, schema, "parent"), 3, 4, 7, 8, 9, 10, 11, 12, 13), key);
        same("indexes", rows(data.getIndexInfo(null, schema, "parent", false, false), 4, 6, 8, 9, 10), "f,named,1,name,A f,named,2,price,A f,parent_pkey,1,id,A");
        same("other indexes", rows(data.getIndexInfo(null, schema, "child", false, false), 4, 6, 9), "f,child_pkey,id t,child_pid,pid");
        for (ResultSet rows : List.of(data.getCatalogs(), data.getSchemas(), data.getTableTypes(), data.getTypeInfo(), data.getTablePrivileges(null, schema, "parent"))) {
            same("whether there is something", rows.next(), true);
        }
        for (ResultSet rows : List.of(data.getFunctions(null, schema, "%"), data.getProcedures(null, schema, "%"), data.getUDTs(null, schema, "%", null), data.getVersionColumns(null, schema, "parent"))) {
            rows.close();
        }
    }

    /// V4: ten runs of one statement, of which the later ones ask for binary results.
    static void statements(Connection connection, int fetched) throws SQLException {
        connection.setAutoCommit(fetched == 0);
        String sql = "SELECT ?::int4 + 1, ?::timestamp, ?::date, ?::numeric(10,2), ?::text, ?::boolean, ARRAY[1,2]::int[], ?::uuid, ?::bytea, ?::float8 FROM (VALUES (1), (2), (3)) t(x)";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setFetchSize(fetched);
            for (int run = 0; run < 10; run++) {
                statement.setInt(1, 41);
                statement.setTimestamp(2, Timestamp.valueOf("2024-02-03 04:05:06.789"));
                statement.setDate(3, java.sql.Date.valueOf("2024-02-03"));
                statement.setBigDecimal(4, new BigDecimal("12.34"));
                statement.setString(5, "é");
                statement.setBoolean(6, true);
                statement.setObject(7, new UUID(0, 5));
                statement.setBytes(8, new byte[] {97, 98, 0});
                statement.setDouble(9, 0.1);
                ResultSet rows = statement.executeQuery();
                int count = 0;
                while (rows.next()) {
                    count++;
                    String row = rows.getInt(1) + " " + rows.getTimestamp(2) + " " + rows.getDate(3) + " " + rows.getBigDecimal(4) + " " + rows.getString(5) + " " + rows.getBoolean(6)
                        + " " + Arrays.toString((Object[]) rows.getArray(7).getArray()) + " " + rows.getObject(8) + " " + Arrays.toString(rows.getBytes(9)) + " " + rows.getDouble(10);
                    same("row of run " + run, row, "42 2024-02-03 04:05:06.789 2024-02-03 12.34 é true [1, 2] 00000000-0000-0000-0000-000000000005 [97, 98, 0] 0.1");
                }
                same("rows", count, 3);
            }
        }
        connection.setAutoCommit(true);
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("user", "tester");
        properties.put("sslmode", "disable");
        Connection connection = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + args[0] + "/memory", properties);
        Statement statement = connection.createStatement();
        statement.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, price DECIMAL(10,2), tags VARCHAR[], at TIMESTAMPTZ, CONSTRAINT named UNIQUE (name, price))");
        statement.execute("CREATE TABLE child (id BIGINT PRIMARY KEY, pid INTEGER REFERENCES parent(id) ON DELETE CASCADE)");
        statement.execute("CREATE INDEX child_pid ON child (pid)");
        metadata(connection, args[1]);
        statements(connection, 0);
        statements(connection, 2);
        PreparedStatement batch = connection.prepareStatement("INSERT INTO parent (id, name, price) VALUES (?, ?, ?)");
        for (int number = 0; number < 20; number++) {
            batch.setInt(1, number);
            batch.setString(2, "n" + number);
            batch.setBigDecimal(3, new BigDecimal(number));
            batch.addBatch();
        }
        same("batch", batch.executeBatch().length, 20);
        PreparedStatement insert = connection.prepareStatement("INSERT INTO child (id, pid) VALUES (1, 1)", Statement.RETURN_GENERATED_KEYS);
        insert.executeUpdate();
        same("generated key", rows(insert.getGeneratedKeys(), 1), "1");
        try {
            statement.execute("INSERT INTO parent (id, name) VALUES (1, 'q')");
            throw new AssertionError("a key twice");
        } catch (SQLException error) {
            same("code", error.getSQLState(), "23505");
        }
        PreparedStatement any = connection.prepareStatement("SELECT count(*) FROM parent WHERE name = ANY (?)");
        any.setArray(1, connection.createArrayOf("text", new String[] {"n1", "n2"}));
        same("any", rows(any.executeQuery(), 1), "2");
        connection.close();
        System.out.println("fine");
    }
}
