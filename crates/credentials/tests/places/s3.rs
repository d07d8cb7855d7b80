//! Keys of S3 in the environment and in the files of Amazon's tools.

use farroot_credentials::{Choice, Place, Reason, S3Settings};
use secrecy::ExposeSecret;

use crate::home::Home;

const CREDENTIALS: &str = "# keys\n[default]\naws_access_key_id = ONE\n\
    aws_secret_access_key=secret/one+=\n\n[ site ]\naws_access_key_id=TWO\n\
    aws_secret_access_key=secret2 # old\naws_session_token=session2\n[half]\n\
    aws_access_key_id=THREE\n";
const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile site]\nregion=cern\n\
    endpoint_url = https://all.example\ns3 =\n    endpoint_url = https://s3.example\n    \
    addressing_style = path\noutput=json\n[profile sso]\nsso_session = my\n";

fn home() -> Home {
    let home = Home::new();
    home.write("home/.aws/credentials", CREDENTIALS, 0o600);
    home.write("home/.aws/config", CONFIG, 0o644);
    home
}

fn profile(name: &str) -> Choice {
    Choice { s3_profile: Some(name.to_owned()), ..Choice::default() }
}

#[test]
fn the_environment_goes_before_the_files_and_a_callers_profile_before_both() {
    let home = home();
    let of = |variables: &[(&str, &str)], choice| {
        let keys = home.credential_store(variables).with(choice).s3_keys().unwrap().unwrap();
        let session = keys.session_token.map(|token| token.expose_secret().to_owned());
        (keys.access_key, keys.secret_key.expose_secret().to_owned(), session, keys.place)
    };
    let text = str::to_owned;
    let file = home.path("home/.aws/credentials");
    let one =
        (text("ONE"), text("secret/one+="), None, Place::Section(file.clone(), text("default")));
    let two = Place::Section(file, text("site"));
    let two = (text("TWO"), text("secret2"), Some(text("session2")), two);
    assert_eq!(of(&[], Choice::default()), one);
    assert_eq!(of(&[("AWS_PROFILE", "site")], Choice::default()), two);
    let variables = [
        ("AWS_ACCESS_KEY_ID", "ENV"),
        ("AWS_SECRET_ACCESS_KEY", "env-secret"),
        ("AWS_PROFILE", "site"),
    ];
    let (access, ..) = of(&variables, Choice::default());
    assert_eq!(access, "ENV");
    assert_eq!(of(&variables, profile("site")), two);
    let (access, _, session, place) = of(
        &[("S3_ACCESS_KEY", "ROOT"), ("S3_SECRET_KEY", "b"), ("S3_SESSION_TOKEN", "c")],
        Choice::default(),
    );
    assert_eq!((access, session), (text("ROOT"), Some(text("c"))));
    assert_eq!(place, Place::Variable("S3_ACCESS_KEY"));
    assert!(Home::new().credential_store(&[]).s3_keys().unwrap().is_none());
}

#[test]
fn settings_come_from_variables_and_profiles() {
    let home = home();
    let of = |variables: &[(&str, &str)], choice| {
        home.credential_store(variables).with(choice).s3_settings().unwrap()
    };
    let text = |text: &str| Some(text.to_owned());
    let default = S3Settings { region: text("eu-west-1"), ..S3Settings::default() };
    assert_eq!(of(&[], Choice::default()), default);
    let site = S3Settings {
        region: text("cern"),
        endpoint: text("https://s3.example"),
        path_style: Some(true),
    };
    assert_eq!(of(&[("AWS_PROFILE", "site")], Choice::default()), site);
    let variables = [("AWS_REGION", "env"), ("AWS_ENDPOINT_URL", "https://env.example")];
    assert_eq!(of(&variables, profile("site")), site);
    let own = of(&variables, Choice::default());
    assert_eq!((own.region, own.endpoint), (text("env"), text("https://env.example")));
}

#[test]
fn keys_that_cannot_be_used_say_why() {
    let home = home();
    let refused = |variables: &[(&str, &str)], choice| {
        home.credential_store(variables).with(choice).s3_keys().unwrap_err()
    };
    let half = refused(&[], profile("half"));
    assert_eq!(half.reason, Reason::Incomplete("aws_secret_access_key"));
    let half = refused(&[("AWS_ACCESS_KEY_ID", "A")], Choice::default());
    assert_eq!(
        half.to_string(),
        "the access key in the variable AWS_ACCESS_KEY_ID lacks AWS_SECRET_ACCESS_KEY; aws \
         configure"
    );
    assert_eq!(refused(&[], profile("nobody")).reason, Reason::Missing);
    let indirect = refused(&[], profile("sso"));
    assert_eq!(indirect.reason, Reason::Indirect("sso_session"));
    assert!(indirect.to_string().contains("export-credentials"), "{indirect}");
    home.write("home/.aws/credentials", CREDENTIALS, 0o644);
    let open = refused(&[], Choice::default());
    assert_eq!(open.reason, Reason::Mode(0o644));
    assert!(open.to_string().contains("chmod 600"), "{open}");
}

#[test]
fn of_a_keys_name_the_end_is_shown() {
    let home = home();
    for (name, shown) in
        [("AKIAIOSFODNN7EXAMPLE", "****MPLE"), ("ABCDEF", "****EF"), ("AB", "****")]
    {
        let variables = [("AWS_ACCESS_KEY_ID", name), ("AWS_SECRET_ACCESS_KEY", "secret")];
        let keys = home.credential_store(&variables).s3_keys().unwrap().unwrap();
        assert_eq!(keys.shown_name(), shown);
    }
}
