//! Names are resolved once, and what was screened is what is connected to.

use std::sync::Mutex;

use super::*;

impl Connector {
    /// A connector for which names lead, one lookup after the other, to these addresses.
    pub(crate) fn of_answers(answers: &[&[&str]]) -> (Self, Arc<Mutex<usize>>) {
        let asked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&asked);
        let answers: Vec<Vec<IpAddr>> = answers
            .iter()
            .map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect())
            .collect();
        let lookup = move |_host: String, port: u16| -> Found {
            let mut asked = count.lock().unwrap();
            let answer = answers.get(*asked).or(answers.last()).cloned().unwrap_or_default();
            *asked += 1;
            Box::pin(async move { Ok(answer.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()) })
        };
        let connector = Self {
            lookup: Lookup(Arc::new(lookup)),
            ..Self::new(Duration::from_secs(5))
        };
        (connector, asked)
    }
}

async fn places(connector: &Connector, url: &str, screen: Screen) -> Result<Vec<String>, Unconnected> {
    let places = connector.places(&url.parse().unwrap(), screen).await?;
    Ok(places.iter().map(ToString::to_string).collect())
}

#[tokio::test]
async fn b075_a_name_that_leads_inside_is_refused_and_one_that_flips_is_screened_each_time() {
    let (connector, asked) = Connector::of_answers(&[&["8.8.8.8"], &["127.0.0.1"], &["8.8.8.8"]]);
    let url = "https://flips.example/metadata";
    assert_eq!(places(&connector, url, Screen::Others).await.unwrap(), ["8.8.8.8:443"]);
    assert_eq!(*asked.lock().unwrap(), 1, "one lookup for one connection");
    let second = places(&connector, url, Screen::Others).await;
    assert_eq!(second, Err(Unconnected::Screened(Kind::Loopback)));
}

#[tokio::test]
async fn b075_of_a_mixed_answer_only_public_addresses_are_connected_to() {
    let (connector, _) = Connector::of_answers(&[&["10.0.0.1", "8.8.8.8", "::1", "64:ff9b::808:808"]]);
    let kept = places(&connector, "https://mixed.example:8443/", Screen::Others).await;
    assert_eq!(kept.unwrap(), ["8.8.8.8:8443"]);
    let all = places(&connector, "https://mixed.example:8443/", Screen::Nothing).await;
    assert_eq!(all.unwrap().len(), 4);
}

#[tokio::test]
async fn b075_addresses_written_as_such_are_screened_without_a_lookup() {
    let (connector, asked) = Connector::of_answers(&[&["8.8.8.8"]]);
    for (url, kind) in [
        ("https://169.254.169.254/latest/meta-data", Kind::LinkLocal),
        ("https://[::ffff:10.0.0.1]/", Kind::Mapped),
        ("https://[fd00:ec2::254]/", Kind::Private),
        ("https://127.0.0.1:8443/", Kind::Loopback),
        ("https://100.64.0.1/", Kind::Carrier),
        ("https://[64:ff9b::7f00:1]/", Kind::Translated),
        ("https://0.0.0.0/", Kind::Unspecified),
    ] {
        let refused = places(&connector, url, Screen::Others).await;
        assert_eq!(refused, Err(Unconnected::Screened(kind)), "{url}");
    }
    assert_eq!(*asked.lock().unwrap(), 0);
}

#[tokio::test]
async fn b075_other_spellings_of_an_address_are_screened_by_what_they_lead_to() {
    // The system's resolver reads these as 127.0.0.1, or not at all.
    let connector = Connector::new(Duration::from_secs(5));
    for url in [
        "https://2130706433/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://localhost/",
        "https://LOCALHOST./",
    ] {
        let found = places(&connector, url, Screen::Others).await;
        assert!(found.is_err(), "{url}: {found:?}");
    }
}
