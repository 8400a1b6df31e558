//! The shapes of plans that single rules are there for.

use super::{data, optimized, plan_of};
use crate::plan::{JoinKind, Plan};

fn count(plan: &Plan, test: &dyn Fn(&Plan) -> bool) -> usize {
    usize::from(test(plan)) + plan.inputs().into_iter().map(|input| count(input, test)).sum::<usize>()
}

fn is_join(kind: JoinKind) -> impl Fn(&Plan) -> bool {
    move |plan| matches!(plan, Plan::Join { kind: found, .. } if *found == kind)
}

/// EXISTS and NOT EXISTS become semi and anti joins without a domain.
#[test]
fn exists_is_a_semi_join() {
    let catalog = data::zoo();
    let plan = plan_of(
        &catalog,
        "SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id AND t.hours > 3)",
    );
    assert!(plan.contains("Semi Join") && !plan.contains("shared"), "{plan}");
    let plan = plan_of(
        &catalog,
        "SELECT name FROM emp e WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.emp = e.id)",
    );
    assert!(plan.contains("Anti Join") && !plan.contains("shared"), "{plan}");
}

/// A correlated aggregate becomes one grouped aggregation; a comparison with it makes the outer join an inner one.
#[test]
fn scalar_aggregates_are_grouped() {
    let catalog = data::zoo();
    let query = optimized(
        &catalog,
        "SELECT id FROM emp e WHERE pay > (SELECT avg(pay) FROM emp x WHERE x.dept = e.dept)",
    );
    assert_eq!(count(&query.plan, &is_join(JoinKind::Inner)), 1);
    assert_eq!(count(&query.plan, &|p| matches!(p, Plan::SharedScan { .. })), 0);
    let query =
        optimized(&catalog, "SELECT id, (SELECT count(*) FROM emp x WHERE x.dept = d.id) FROM dept d");
    assert_eq!(count(&query.plan, &is_join(JoinKind::Left)), 1);
}

/// Rows that are computed once for all pairs have ids of their own below the scan that others read: `optimized` looks at all ids.
#[test]
fn what_is_computed_once_is_made_once() {
    let catalog = data::zoo();
    for join in ["SEMI JOIN", "ANTI JOIN", "LEFT JOIN"] {
        let sql = format!(
            "SELECT n.a FROM nums n {join} (SELECT random() AS v FROM nums) r ON EXISTS (SELECT 1 WHERE n.a = r.v)"
        );
        optimized(&catalog, &sql);
    }
    optimized(
        &catalog,
        "SELECT r.v FROM (SELECT random() AS v FROM nums) r RIGHT JOIN nums n ON EXISTS (SELECT 1 WHERE n.a = r.v)",
    );
}

/// Where no equality ties the subquery to the outer query, the domain does.
#[test]
fn inequality_needs_the_domain() {
    let catalog = data::zoo();
    let plan = plan_of(&catalog, "SELECT a, (SELECT count(*) FROM nums m WHERE m.a < n.a) FROM nums n");
    assert!(plan.contains("Distinct"), "{plan}");
}

/// NOT IN keeps its mark as long as a NULL could be compared, and is an anti join otherwise.
#[test]
fn not_in_is_an_anti_join_only_without_nulls() {
    let catalog = data::zoo();
    let nullable = plan_of(&catalog, "SELECT id FROM dept WHERE id NOT IN (SELECT dept FROM emp)");
    assert!(nullable.contains("Mark Join"), "{nullable}");
    let filtered = plan_of(
        &catalog,
        "SELECT id FROM dept WHERE id IS NOT NULL AND id NOT IN (SELECT dept FROM emp WHERE dept IS NOT NULL)",
    );
    assert!(filtered.contains("Anti Join"), "{filtered}");
}

/// Constants reach both sides of a join, and an outer join under a filter that NULLs fail is an inner one.
#[test]
fn filters_are_inferred_across_joins() {
    let catalog = data::zoo();
    let plan = plan_of(&catalog, "SELECT * FROM emp e JOIN dept d ON e.dept = d.id WHERE d.id = 3");
    assert_eq!(plan.matches("= 3").count(), 2, "{plan}");
    let plan = plan_of(&catalog, "SELECT * FROM emp e LEFT JOIN dept d ON e.dept = d.id WHERE d.budget > 3");
    assert!(plan.contains("Inner Join"), "{plan}");
    let plan = plan_of(
        &catalog,
        "SELECT * FROM emp e LEFT JOIN dept d ON e.dept = d.id WHERE coalesce(d.budget, 9) > 3",
    );
    assert!(plan.contains("Left Join"), "{plan}");
}

/// Q19: the equality that all branches share joins the tables.
#[test]
fn common_conjuncts_leave_disjunctions() {
    let catalog = data::zoo();
    let plan = plan_of(
        &catalog,
        "SELECT 1 FROM emp e, dept d WHERE (e.dept = d.id AND e.pay > 1 AND d.budget > 5) OR (e.dept = d.id AND e.pay > 7)",
    );
    assert!(plan.contains("dept = id") || plan.contains("id = dept") || plan.contains("on "), "{plan}");
    assert!(plan.matches("where").count() >= 1, "{plan}");
}

/// Q10, Q18: grouping by a key needs nothing else.
#[test]
fn groups_are_reduced_to_keys() {
    let catalog = data::tpch();
    let query = optimized(
        &catalog,
        "SELECT c_custkey, c_name, n_name, sum(o_totalprice) FROM customer, orders, nation \
         WHERE c_custkey = o_custkey AND c_nationkey = n_nationkey GROUP BY c_custkey, c_name, n_name",
    );
    assert_eq!(count(&query.plan, &|p| matches!(p, Plan::Aggregate { groups, .. } if groups.len() == 1)), 1);
}

/// What is computed of grouping columns, and constants, are no keys; one constant stays, and what is computed of floats.
#[test]
fn derived_groups_are_no_keys() {
    let catalog = data::zoo();
    let plan = plan_of(&catalog, "SELECT a, a - 1, 7 AS c, count(*) FROM nums GROUP BY a, a - 1, c");
    assert_eq!(plan.matches("Project").count(), 1, "{plan}");
    assert!(plan.lines().any(|line| line.contains("Aggregate  by [a#") && !line.contains("- 1")), "{plan}");
    let plan = plan_of(&catalog, "SELECT 1 AS k, 2 AS l, count(*) FROM nums GROUP BY k, l");
    assert!(plan.contains("Aggregate  by [l := 2]"), "{plan}");
    let plan = plan_of(&catalog, "SELECT x, x * 2 FROM (SELECT a::DOUBLE AS x FROM nums) GROUP BY x, x * 2");
    assert!(!plan.starts_with("Project"), "{plan}");
}

/// ORDER BY with LIMIT is one operator; orders of subqueries go.
#[test]
fn sorts_become_top_n_or_nothing() {
    let catalog = data::zoo();
    let plan = plan_of(&catalog, "SELECT a FROM nums ORDER BY b LIMIT 3");
    assert!(plan.contains("Top"), "{plan}");
    let plan = plan_of(&catalog, "SELECT sum(a) FROM (SELECT a FROM nums ORDER BY b) x");
    assert!(!plan.contains("Sort"), "{plan}");
    let plan = plan_of(
        &catalog,
        "SELECT d.id, (SELECT e.id FROM emp e WHERE e.dept = d.id ORDER BY pay LIMIT 1) FROM dept d",
    );
    assert!(plan.contains("Group Limit"), "{plan}");
}

/// A column is compared with a literal of its own type, and constants are folded.
#[test]
fn literals_take_the_type_of_the_column() {
    let catalog = data::tpch();
    let plan =
        plan_of(&catalog, "SELECT 1 FROM orders WHERE o_orderdate < DATE '1995-01-01' + INTERVAL '1 year'");
    assert!(plan.contains("o_orderdate < '1996-01-01'"), "{plan}");
    let plan = plan_of(&catalog, "SELECT 1 FROM lineitem WHERE l_quantity < 24 AND 1 + 1 = 2");
    assert!(plan.contains("l_quantity < 24.00"), "{plan}");
    let plan = plan_of(&catalog, "SELECT 1 FROM part WHERE p_name LIKE 'forest%'");
    assert!(plan.contains("p_name >= 'forest' AND p_name < 'foresu'"), "{plan}");
}

/// An equal subquery is computed once.
#[test]
fn equal_subplans_are_shared() {
    let catalog = data::tpch();
    let plan = plan_of(&catalog, &super::tpch_query(15));
    assert!(plan.contains("With shared"), "{plan}");
    assert_eq!(plan.matches("Scan lineitem").count(), 1, "{plan}");
}

/// A shared plan computes what some reader wants, through UNION ALL, literals and grouping.
#[test]
fn shared_plans_are_filtered_by_what_their_readers_want() {
    let catalog = data::tpch();
    let plan = plan_of(
        &catalog,
        "WITH t AS (SELECT 'o' AS kind, o_orderdate AS day, count(*) AS n FROM orders GROUP BY o_orderdate
                    UNION ALL SELECT 'l', l_shipdate, count(*) FROM lineitem GROUP BY l_shipdate)
         SELECT a.n FROM t a JOIN t b ON a.n = b.n
         WHERE a.kind = 'o' AND b.kind = 'o' AND a.day = DATE '1995-01-01' AND b.day = DATE '1996-01-01' AND b.n > 0",
    );
    assert!(plan.contains("With shared"), "{plan}");
    assert!(!plan.contains("lineitem"), "{plan}");
    assert!(plan.contains("IN ('1995-01-01', '1996-01-01')"), "{plan}");
    // One reader wants all rows.
    let plan = plan_of(
        &catalog,
        "WITH t AS (SELECT o_orderdate AS day, count(*) AS n FROM orders GROUP BY o_orderdate)
         SELECT a.n FROM t a JOIN t b ON a.n = b.n WHERE a.day = DATE '1995-01-01'",
    );
    assert!(!plan.contains("where"), "{plan}");
}

/// The condition of a join above rejects the NULLs of an outer join below.
#[test]
fn joins_above_make_outer_joins_inner() {
    let catalog = data::tpch();
    let from = "FROM customer LEFT JOIN orders ON c_custkey = o_custkey JOIN nation ON";
    let plan = plan_of(&catalog, &format!("SELECT c_name, n_name {from} o_shippriority = n_nationkey"));
    assert!(!plan.contains("Left"), "{plan}");
    let plan =
        plan_of(&catalog, &format!("SELECT c_name, n_name, o_orderkey {from} c_nationkey = n_nationkey"));
    assert!(plan.contains("Left"), "{plan}");
}

/// Only columns that are read are scanned.
#[test]
fn scans_read_only_what_is_needed() {
    let catalog = data::zoo();
    let plan = plan_of(&catalog, "SELECT x.a FROM (SELECT a, b, s FROM nums) x WHERE x.b > 1");
    assert!(plan.contains("[a, b]"), "{plan}");
}

/// Relations that are all joined with each other are planned in bounded time, however many they are.
#[test]
fn planning_is_bounded() {
    let catalog = data::zoo();
    for relations in [9, 12, 16, 60, 100] {
        let from: Vec<String> = (0..relations).map(|i| format!("nums n{i}")).collect();
        let pairs = (0..relations).flat_map(|i| (0..i).map(move |j| (i, j)));
        let keys: Vec<String> = pairs.clone().map(|(i, j)| format!("n{i}.a = n{j}.a")).collect();
        let sums: Vec<String> = pairs.map(|(i, j)| format!("n{i}.a + {j} = n{j}.a + {i}")).collect();
        for conditions in [keys, sums] {
            if conditions.len() > 2000 && conditions[0].contains('+') {
                continue;
            }
            let sql = format!("SELECT count(*) FROM {} WHERE {}", from.join(", "), conditions.join(" AND "));
            let started = std::time::Instant::now();
            let query = optimized(&catalog, &sql);
            assert_eq!(count_joins(&query.plan), relations - 1);
            // Some tenths of a second with the little that tests are optimised.
            assert!(started.elapsed().as_secs() < 20, "{relations} relations: {:?}", started.elapsed());
        }
    }
}

fn count_joins(plan: &Plan) -> usize {
    count(plan, &is_join(JoinKind::Inner))
}

/// Rows with few keys are summed up before a join that adds names to them, unless what is computed could fail for rows without
/// a partner.
#[test]
fn sums_come_before_joins_that_copy() {
    let catalog = data::star();
    let aggregates = |what: &str| {
        let sql =
            format!("SELECT item_name, {what} FROM facts JOIN items ON item = item_id GROUP BY item_name");
        count(&optimized(&catalog, &sql).plan, &|plan| matches!(plan, Plan::Aggregate { .. }))
    };
    assert_eq!(aggregates("sum(amount), count(*), avg(amount), min(day)"), 2);
    assert_eq!(aggregates("count(DISTINCT amount)"), 1);
    assert_eq!(aggregates("sum(amount + item_id)"), 1);
    assert_eq!(aggregates("sum(amount * amount)"), 2, "amounts are known to be small");
    let beyond = "sum(amount * 100000 * 100000)";
    assert_eq!(aggregates(beyond), 1, "may be out of range for items that are not there");
}

/// A key that was not declared serves as well as one that was: what it determines is no group, and sums come before the joins
/// that add it. Not where another column of the rows is a group, or rows without partners would be most.
#[test]
fn keys_are_found_in_tables() {
    let catalog = data::star();
    let from = "FROM facts JOIN found ON item = id JOIN days ON day = day_id";
    let plan = |groups: &str, filter: &str| {
        plan_of(&catalog, &format!("SELECT {groups}, sum(amount) {from} WHERE {filter} GROUP BY {groups}"))
    };
    let items = plan_of(
        &catalog,
        "SELECT id, title, sum(amount) FROM facts JOIN found ON item = id GROUP BY id, title",
    );
    assert!(items.starts_with("Project"), "{items}");
    assert!(items.contains("Aggregate  by [item#") && !items.contains("first"), "{items}");
    let days = plan("id, title", "true");
    assert!(days.contains("Aggregate  by [item#") && days.matches("Join").count() == 2, "{days}");
    assert!(!plan("id, title, amount", "true").contains("Aggregate  by [item#"));
    assert!(!plan("title, year", "true").contains("first"), "neither is a key");
    let few = plan_of(
        &catalog,
        "SELECT id, title, sum(amount) FROM facts JOIN found ON item = id WHERE title = 'title 3' GROUP BY id, title",
    );
    assert!(!few.contains("Aggregate  by [item#"), "{few}");
}

/// A year of the calendar is a fifth of the years that rows know, not a two hundredth.
#[test]
fn a_filtered_calendar_is_estimated_by_the_days_that_rows_have() {
    let catalog = data::star();
    let sql = "SELECT count(*) FROM facts JOIN days ON day = day_id WHERE year = 84";
    let query = optimized(&catalog, sql);
    // The aggregate is the plan's first node, the join the second.
    let rows = query.estimates.rows(1).unwrap();
    assert!((8_000.0..50_000.0).contains(&rows), "{rows}");
}

/// Any groups will do, so some are chosen first; not where all have to be known, or there are few.
#[test]
fn limited_groups_are_chosen_first() {
    let catalog = data::tpch();
    let is_chosen = |sql: &str| {
        let query = optimized(&catalog, sql);
        count(&query.plan, &is_join(JoinKind::Semi)) == 1
    };
    let grouped = "SELECT l_orderkey, count(*) FROM lineitem GROUP BY l_orderkey";
    assert!(is_chosen(&format!("{grouped} LIMIT 10")));
    assert!(is_chosen("SELECT l_orderkey + 1 AS k, sum(l_tax) FROM lineitem GROUP BY k LIMIT 10 OFFSET 5"));
    assert!(!is_chosen(&format!("{grouped} ORDER BY 2 LIMIT 10")));
    assert!(!is_chosen(&format!("{grouped} HAVING count(*) > 3 LIMIT 10")));
    assert!(!is_chosen(&format!("{grouped} LIMIT 5000")));
    assert!(!is_chosen("SELECT l_returnflag, count(*) FROM lineitem GROUP BY l_returnflag LIMIT 10"));
    assert!(!is_chosen("SELECT l_orderkey, count(*) FROM lineitem WHERE random() < 0.5 GROUP BY 1 LIMIT 10"));
}

/// Lambdas over lists of few elements are applied one by one, but a plan does not grow with each level of their nesting.
#[test]
fn plans_grow_with_the_lambdas_in_them() {
    let catalog = data::zoo();
    let size = |depth: usize| {
        let body = (0..=depth).map(|level| format!("x{level}")).collect::<Vec<_>>().join(" + ");
        let nested = (1..=depth).rev().fold(body, |body, level| {
            let of = level - 1;
            format!("list_transform([x{of}, x{of}, x{of}, x{of}], lambda x{level}: {body})")
        });
        plan_of(&catalog, &format!("SELECT {nested} FROM (SELECT a AS x0 FROM nums) n")).len()
    };
    assert!(size(1) > 0 && size(8) < 20 * size(4), "{} {} {}", size(1), size(4), size(8));
    assert!(size(12) < 2 * size(8), "{} {}", size(8), size(12));
}
