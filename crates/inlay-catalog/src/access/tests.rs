use super::*;

fn restricted(directories: &[&str], files: &[&str]) -> Access {
    let access = Access::default();
    let texts = |items: &[&str]| items.iter().map(|item| (*item).to_string()).collect::<Vec<_>>();
    access.allow_directories(&texts(directories)).unwrap();
    access.allow_files(&texts(files)).unwrap();
    access.restrict();
    access
}

#[test]
fn only_allowed_files_are_in_reach() {
    Access::default().ask(Door::Read("/anything")).unwrap();
    let access = restricted(&["/data/in"], &["/data/one.csv"]);
    for path in ["/data/in/deep/x.csv", "/data/in/./x", "/data/in/a/../x", "/data/one.csv"] {
        access.ask(Door::Read(path)).unwrap();
        access.ask(Door::Write(path)).unwrap();
    }
    for path in
        ["/data/in/../two.csv", "/data/inside/x.csv", "/data", "x.csv", "", "/data/one.csv/x/../../two"]
    {
        for door in [
            Door::Read(path),
            Door::Write(path),
            Door::List(path),
            Door::MakeFolder(path),
            Door::Attach(path),
        ] {
            assert_eq!(access.ask(door).unwrap_err().sqlstate(), "42501", "{door:?}");
        }
        assert!(access.way(Door::Read(path)).is_err(), "{path}");
    }
}

#[test]
fn urls_are_in_reach_below_those_that_are_allowed() {
    let access = restricted(&["https://Data.org/in/", "s3://bucket", "a+b://x"], &[]);
    for url in
        ["https://data.org/in/x.csv?a=b", "HTTPS://DATA.org/in/deep/x", "s3://bucket/a/*.csv", "a+b://x/y"]
    {
        access.ask(Door::Read(url)).unwrap();
    }
    for url in [
        "https://data.org/other",
        "http://data.org/in/x",
        "https://data.org.evil/in/x",
        "https://data.org@evil/in/x",
        "https://data.org/in/../x",
        "https://data.org/in/%2e%2E/x",
        "https://data.org/in/..%2fx",
        "https://data.org/in\\..\\x",
        "s3://bucket2/a",
        "a+b://x/../y",
    ] {
        assert!(access.ask(Door::Read(url)).is_err(), "{url}");
    }
}

/// Two URLs that are like no other are not like each other.
#[test]
fn nothing_is_allowed_by_a_path_that_cannot_be_told() {
    let access = Access::default();
    let error = access.allow_directories(&["https://data.org/a/../b".to_string()]).unwrap_err();
    assert!(error.to_string().contains("allowed_directories: 'https://data.org/a/../b'"), "{error}");
    access.restrict();
    assert!(access.ask(Door::Read("https://evil.org/../x")).is_err());
}

#[test]
fn doors_shut_and_stay_shut() {
    let access = restricted(&[], &[]);
    for name in OF_DOORS {
        assert!(
            access.ask(Door::Setting(name)).unwrap_err().to_string().contains("has to be set before"),
            "{name}"
        );
    }
    access.ask(Door::Setting("threads")).unwrap();
    assert!(access.ask(Door::HostVariables).is_err() && access.ask(Door::StoredCode("f")).is_err());
    assert!(access.set_python(true).is_err());
    assert!(access.ask(Door::Secret { name: "s", uses_host: true }).is_err());
    access.ask(Door::Secret { name: "s", uses_host: false }).unwrap();
    access.shut().unwrap();
    assert!(access.ask(Door::Secret { name: "s", uses_host: false }).is_err());
    assert!(access.ask(Door::Setting("threads")).is_err());
    let trusting = Access::default();
    trusting.set_python(true).unwrap();
    assert!(trusting.shut().is_err() && trusting.is_unrestricted());
    trusting.restrict();
    assert!(trusting.ask(Door::NewCode("f")).is_err() && trusting.ask(Door::StoredCode("f")).is_ok());
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A folder `in` that is allowed, and beside it `out`, which is not.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let place = std::env::temp_dir().join(format!("inlay-access-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&place);
            fs::create_dir_all(place.join("in/sub")).unwrap();
            fs::create_dir_all(place.join("out")).unwrap();
            fs::write(place.join("out/secret"), "hush").unwrap();
            Self(place)
        }

        fn path(&self, name: &str) -> String {
            self.0.join(name).display().to_string()
        }

        fn access(&self) -> Access {
            restricted(&[&self.path("in")], &[])
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_lead_nowhere_else() {
        let place = Place::new("links");
        symlink(place.path("out"), place.path("in/folder")).unwrap();
        symlink("../out/secret", place.path("in/file")).unwrap();
        symlink("../out/not-there", place.path("in/dangling")).unwrap();
        symlink("circle", place.path("in/circle")).unwrap();
        symlink("sub", place.path("in/inner")).unwrap();
        let access = place.access();
        for path in
            ["in/folder/secret", "in/file", "in/dangling", "in/circle", "in/dangling/x", "in/sub/../folder/x"]
        {
            let error = access.way(Door::Write(&place.path(path))).unwrap_err();
            assert_eq!(error.sqlstate(), "42501", "{path}");
        }
        // A link that stays inside is one.
        access.way(Door::Write(&place.path("in/inner/x"))).unwrap().write(b"1").unwrap();
        assert_eq!(fs::read(place.path("in/sub/x")).unwrap(), b"1");
    }

    /// Whoever can write into an allowed folder puts a link in the place of what was decided about.
    #[test]
    fn what_is_swapped_after_the_decision_is_not_followed() {
        let place = Place::new("swapped");
        let access = place.access();
        let file = access.way(Door::Read(&place.path("in/x"))).unwrap();
        symlink(place.path("out/secret"), place.path("in/x")).unwrap();
        assert!(
            file.open(How::Read).is_err() && file.open(How::Whole).is_err() && file.open(How::New).is_err()
        );
        assert!(file.about().unwrap().is_symlink());
        let below = access.way(Door::Write(&place.path("in/sub/new"))).unwrap();
        fs::rename(place.path("in/sub"), place.path("in/moved")).unwrap();
        symlink(place.path("out"), place.path("in/sub")).unwrap();
        below.write(b"inside").unwrap();
        assert_eq!(fs::read(place.path("in/moved/new")).unwrap(), b"inside");
        let folder = access.way(Door::List(&place.path("in/late"))).unwrap();
        symlink(place.path("out"), place.path("in/late")).unwrap();
        assert!(folder.names().is_err() && folder.remove_folders(|_| true).is_err());
        let names = |folder: &str| fs::read_dir(place.path(folder)).unwrap().count();
        assert_eq!((fs::read(place.path("out/secret")).unwrap(), names("out")), (b"hush".to_vec(), 1));
    }

    #[test]
    fn folders_are_made_listed_and_removed_inside_only() {
        let place = Place::new("folders");
        let access = place.access();
        access.make_folders(&place.path("in/a=1/b=2")).unwrap();
        access.way(Door::Write(&place.path("in/a=1/b=2/x"))).unwrap().write(b"1").unwrap();
        symlink(place.path("out"), place.path("in/a=2")).unwrap();
        symlink(place.path("out"), place.path("in/a=1/link")).unwrap();
        let folder = access.way(Door::List(&place.path("in"))).unwrap();
        let mut names = folder.names().unwrap();
        names.sort();
        assert_eq!(names, ["a=1", "a=2", "sub"]);
        folder.remove_folders(|name| name.to_string_lossy().contains('=')).unwrap();
        assert!(!fs::exists(place.path("in/a=1")).unwrap() && fs::exists(place.path("out/secret")).unwrap());
        assert!(access.make_folders(&place.path("in/a=2/x")).is_err());
        assert!(access.make_folders(&place.path("other")).is_err());
        // Folders around an allowed one that is not there are not made.
        let deep = restricted(&[&place.path("not/there")], &[]);
        assert!(
            deep.make_folders(&place.path("not/there/x")).is_err() && !fs::exists(place.path("not")).unwrap()
        );
    }

    #[test]
    fn a_file_takes_its_place_by_the_folder_that_was_held() {
        let place = Place::new("renamed");
        let access = place.access();
        let target = access.way(Door::Write(&place.path("in/x.csv"))).unwrap();
        let part = target.beside(".x.part");
        part.open(How::New).unwrap();
        assert!(part.open(How::New).is_err());
        symlink(place.path("out/secret"), place.path("in/x.csv")).unwrap();
        part.rename(&target).unwrap();
        assert!(fs::symlink_metadata(place.path("in/x.csv")).unwrap().is_file());
        assert_eq!(fs::read(place.path("out/secret")).unwrap(), b"hush");
    }
}
