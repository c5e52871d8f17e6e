//! `countersign access`: everything that one caller can discover and call, and what is kept from it.

mod report;
mod show;

use crate::args::Access;
use crate::failure::Failure;
use crate::out::{self, Format};
use crate::scene::{Scene, is_silent};

/// Exit code where a server did not answer, so that the table may lack its tools, or where no toolset can be used.
const INCOMPLETE: u8 = 1;

/// Shows the table. Nothing is called and nothing is recorded.
pub(crate) async fn run(flags: Access, format: Format) -> Result<(), Failure> {
    let scene = Scene::open(flags.whose).await?;
    let report = report::of(&scene);
    let is_complete = report.refusal.is_none() && !scene.world.catalogue.servers().iter().any(is_silent);
    scene.close().await;
    let json = serde_json::to_string(&report).map_err(std::io::Error::from)?;
    out::emit(format, &json, || show::report(&report))?;
    if is_complete {
        Ok(())
    } else {
        Err(Failure::Silent(INCOMPLETE))
    }
}
