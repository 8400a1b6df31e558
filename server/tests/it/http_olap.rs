//! Calculations over HTTP: the document is the one that SQL gives.

use crate::support::{percent, request, server};

#[test]
fn a_document_is_what_sql_gives() {
    let server = server();
    let run = |sql: &str| request(&server, "POST", "/query?format=csv", &[], sql);
    let made = run(
        "CREATE TABLE flats AS FROM (VALUES ('Nord', 'flat', 100.5::DOUBLE), ('Süd', 'loft', 200), (NULL, 'flat', 50)) \
                    t(region_txt, type_txt, price_fact)",
    );
    assert_eq!(made.status, 200, "{}", made.text());
    let get = |target: &str| request(&server, "GET", target, &[], "");
    let answer = get("/olap/flats?by=region_txt,type_txt&agg=avg&fact=price_fact");
    let expected = "{\"region\":[{\"name\":\"Nord\",\"type\":[{\"name\":\"flat\",\"avg\":100.5}]},\
         {\"name\":\"Süd\",\"type\":[{\"name\":\"loft\",\"avg\":200.0}]},\
         {\"name\":null,\"type\":[{\"name\":\"flat\",\"avg\":50.0}]}]}";
    assert_eq!((answer.status, answer.text().as_str()), (200, expected));
    assert!(answer.head.contains("application/json"), "{}", answer.head);
    let of_sql = run(
        "SELECT json::VARCHAR = '{\"region\":[{\"name\":\"Nord\",\"type\":[{\"name\":\"flat\",\"avg\":100.5}]},{\"name\":\"Süd\",\"type\":[{\"name\":\"loft\",\"avg\":200.0}]},{\"name\":null,\"type\":[{\"name\":\"flat\",\"avg\":50.0}]}]}' AS is_same FROM olap_json('flats', 'region_txt,type_txt', 'avg', 'price_fact')",
    );
    assert_eq!(of_sql.text(), "is_same\r\ntrue\r\n");
    let flat = get(&format!(
        "/olap/main.flats?by=region_txt&agg=max&fact={}&where={}&shape=rows",
        percent("price_fact * 2"),
        percent("region_txt = 'Süd'")
    ));
    assert_eq!((flat.status, flat.text().as_str()), (200, "[{\"region\":\"Süd\",\"max\":400.0}]"));
    assert_eq!(get("/olap/flats").text(), "{\"count\":3}");
}

#[test]
fn what_is_wrong_is_told() {
    let server = server();
    assert_eq!(request(&server, "POST", "/query", &[], "CREATE TABLE t AS SELECT 1 AS a").status, 200);
    let get = |target: &str| {
        let answer = request(&server, "GET", target, &[], "");
        (answer.status, answer.text())
    };
    for (target, part) in [
        ("/olap/none?agg=count", "none"),
        ("/olap/t?by=b", "b"),
        ("/olap/t?agg=mode&fact=a", "there is no aggregate"),
        ("/olap/t?agg=sum", "needs a fact"),
        ("/olap/t?shape=x", "shape is"),
        ("/olap/t?having=1", "there is nothing called"),
        ("/olap/t?by=a&by=a", "given twice"),
        ("/olap/t?where=1)+OR+(1", ""),
        ("/olap/t?fact=a)+FROM+t;+DROP+TABLE+t&agg=sum", ""),
    ] {
        let (status, text) = get(target);
        assert!(matches!(status, 400 | 404) && text.contains(part), "{target}: {status} {text}");
    }
    assert_eq!(get("/olap/t?agg=sum&fact=a"), (200, "{\"sum\":1}".to_string()));
    assert_eq!(request(&server, "POST", "/olap/t", &[], "").status, 405);
}
