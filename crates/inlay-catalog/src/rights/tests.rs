//! Texts of roles and grants, and what they allow.

use super::*;

#[test]
fn texts_are_read_as_they_were_written() {
    let role = Role {
        logs_in: true,
        is_superuser: true,
        creates_roles: true,
        connections: Some(3),
        until: Some(-1),
        verifier: Some("SCRAM-SHA-256$4096:c2FsdA==$a:b".into()),
        is_in: vec![Membership { role: "a\tb\\t".into(), admin: true, grantor: "x\ny".into() }],
        tokens: vec![Token { name: "n".into(), hash: "00".into(), until: None }],
    };
    assert_eq!(Role::read(&role.write()).unwrap(), role);
    assert_eq!(Role::read("").unwrap(), Role::default());
    let held: Vec<Held> = Privilege::ALL
        .iter()
        .map(|one| Held { column: Some("c\r\n\\".into()), option: true, ..Held::plain(*one, "g") })
        .collect();
    assert_eq!(text::read_held(&text::write_held(&held)).unwrap(), held);
    for wrong in ["fly", "in\tx", "until\tnever"] {
        assert!(Role::read(wrong).is_err(), "{wrong}");
    }
    for wrong in ["q\tg", "r", "rr\tg"] {
        assert!(text::read_held(wrong).is_err(), "{wrong}");
    }
}

fn rights() -> Rights {
    let is_in = |role: &str| Membership { role: role.into(), admin: false, grantor: SUPERUSER.into() };
    let role = |is_in: Vec<Membership>| Role { is_in, ..Role::default() };
    let mut rights = Rights::default();
    rights.roles.insert("ann".into(), role(vec![is_in("sales")]));
    rights.roles.insert("sales".into(), role(vec![is_in("staff")]));
    rights.roles.insert("staff".into(), role(Vec::new()));
    rights.roles.insert("boss".into(), Role { is_superuser: true, ..Role::default() });
    rights.closures = rights.roles.keys().map(|name| (name.clone(), rights.closure(name))).collect();
    rights
}

#[test]
fn a_role_may_what_the_roles_that_it_is_in_may() {
    let mut rights = rights();
    let table = Subject::Object(7);
    assert!(rights.may("boss", table, Privilege::Delete, None));
    assert!(!rights.may("ann", table, Privilege::Select, None));
    let held = Held { column: Some("a".into()), ..Held::plain(Privilege::Select, SUPERUSER) };
    rights.grants.entry(table).or_default().insert("staff".into(), vec![held]);
    assert!(rights.may("ann", table, Privilege::Select, Some("A")));
    assert!(!rights.may("ann", table, Privilege::Select, Some("b")));
    assert!(!rights.may("ann", table, Privilege::Select, None));
    assert!(rights.may_any("ann", table, Privilege::Select));
    assert!(!rights.may("boss2", table, Privilege::Select, Some("a")));
    rights.owners.insert(table, "sales".into());
    assert!(rights.owns("ann", table) && !rights.owns("staff", table));
    assert_eq!(rights.grantor("ann", table, Privilege::Select, None).as_deref(), Some("sales"));
    // Everybody may use the schema that there always is, until he is told otherwise.
    assert!(rights.may("staff", Subject::Main, Privilege::Usage, None));
    assert!(!rights.may("staff", Subject::Main, Privilege::Create, None));
    rights.grants.entry(Subject::Main).or_default().insert(PUBLIC.into(), Vec::new());
    assert!(!rights.may("staff", Subject::Main, Privilege::Usage, None));
}
