//! What belongs to a server that waits for the caller's sign-in: prompts, resources, and members of families.

use super::*;
use crate::names::FamilyName;
use crate::server::Membership;
use crate::toolset::{Origin as Declared, Selectors};

fn member(name: &str, availability: Availability) -> Server {
    let mut server = server(name, AnnotationTrust::Ignored, availability, listing());
    let mut entry = (*server.entry).clone();
    entry.family = Some(Membership {
        name: FamilyName::parse("k8s").unwrap(),
        instance_arg: "cluster".into(),
    });
    server.entry = Arc::new(entry);
    server
}

/// `mail` and the member `b` wait; the member `a` is there for everybody.
fn waiting() -> World {
    let (mut world, _) = open_world();
    let mut mail = server(
        "mail",
        AnnotationTrust::Ignored,
        Availability::AuthRequired,
        Listing::default(),
    );
    mail.listing = Arc::default();
    world.catalogue = Arc::new(Catalogue::build(Parts {
        workflows: Arc::default(),
        version: 1,
        naming: Naming {
            prefix: "x".to_owned(),
            max_length: 64,
        },
        servers: vec![
            mail,
            member("a", Availability::Ready),
            member("b", Availability::AuthRequired),
        ],
    }));
    world
}

fn refused(declared: &str, ask: Ask) -> String {
    let world = waiting();
    let unscoped = Toolset::Unscoped { because: "a test" };
    let toolset = match declared {
        "" => unscoped,
        declared => unscoped.narrowed(Declared::Header, Selectors::parse_header([declared])),
    };
    let view = View::of(&toolset, &world.catalogue, &world.rules.presets);
    let world = World { view, ..world };
    match judge(&world, &caller(&toolset), ask, Origin::Direct) {
        Ok(_) => "judged".to_owned(),
        Err(refusal) => refusal.code.word().to_owned(),
    }
}

fn prompt(name: &str) -> Ask {
    Ask::Prompt {
        name: name.to_owned(),
        arguments: Exact::empty_object(),
    }
}

#[test]
fn prompts_and_resources_follow_the_server_that_waits() {
    for (declared, ask, code) in [
        ("", prompt("x_mail_letter"), "auth_required"),
        ("", prompt("x_other_letter"), "prompt_not_found"),
        ("server:mail", prompt("x_mail_letter"), "auth_required"),
        ("server:a", prompt("x_mail_letter"), "outside_toolset"),
        (
            "",
            completion(Reference::Prompt("x_mail_letter".to_owned())),
            "auth_required",
        ),
        ("", resource("mail:1", Some("mail")), "auth_required"),
        ("server:mail", resource("mail:1", Some("mail")), "auth_required"),
        ("server:a", resource("mail:1", Some("mail")), "outside_toolset"),
        ("", resource("mail:1", Some("nobody")), "resource_not_found"),
    ] {
        let shown = format!("[{declared}] {ask:?}");
        assert_eq!(refused(declared, ask), code, "{shown}");
    }
}

#[test]
fn a_member_that_waits_is_asked_for_where_no_listed_member_is_inside() {
    let get = |member: &str| Ask::Tool {
        name: "x_k8s_get_nothing".to_owned(),
        arguments: Exact::object(&format!(r#"{{"cluster":"{member}"}}"#)).unwrap(),
    };
    for (declared, member, code) in [
        ("", "a", "judged"),
        ("", "b", "auth_required"),
        ("server:b", "b", "auth_required"),
        ("server:b", "a", "outside_toolset"),
        ("server:a", "b", "outside_toolset"),
        ("server:a", "a", "judged"),
    ] {
        assert_eq!(refused(declared, get(member)), code, "[{declared}] {member}");
    }
}
