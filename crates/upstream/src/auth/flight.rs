//! One piece of work that many wait for: begun once, and finished whether or not anybody still waits.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::Shared;

use super::token::Refusal;
use crate::ending::Ending;

/// What comes of it.
pub(crate) type Outcome = Result<(), Refusal>;
type Under = Shared<Pin<Box<dyn Future<Output = Outcome> + Send>>>;

/// The work that is under way, if any is.
#[derive(Debug, Default)]
pub(crate) struct Single(Mutex<Option<Under>>);

impl Single {
    /// Waits for the work under way, if any is.
    pub(crate) async fn settled(&self) {
        let under = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(under) = under {
            under.await.ok();
        }
    }

    /// Joins the work under way, or begins it. `needed` is asked while nobody else can begin it: `false` says that
    /// it has been done meanwhile.
    pub(crate) async fn join<W>(
        self: &Arc<Self>,
        ending: &Ending,
        needed: impl FnOnce() -> bool,
        work: impl FnOnce() -> W,
    ) -> Outcome
    where
        W: Future<Output = Outcome> + Send + 'static,
    {
        let under = {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match &*place {
                Some(under) => under.clone(),
                None if !needed() => return Ok(()),
                None => {
                    let (work, done) = (work(), Done(Arc::clone(self)));
                    // A task of its own, which the end waits for: a token that was given must not be lost.
                    let task = ending.spawn(async move {
                        let outcome = work.await;
                        drop(done);
                        outcome
                    });
                    let under = async move {
                        let interrupted =
                            || Refusal::Later("its sign-in was interrupted by a fault of the gateway".to_owned());
                        task.await.unwrap_or_else(|_panicked| Err(interrupted()))
                    };
                    let under = under.boxed().shared();
                    *place = Some(under.clone());
                    under
                }
            }
        };
        under.await
    }
}

/// Frees the place, also when the work panics.
struct Done(Arc<Single>);

impl Drop for Done {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
