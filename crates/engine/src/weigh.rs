//! What would become of a request that is not made: judged like every other, and nothing is called or recorded.

use countersign_core::admit::{self, Ask, ExactCall, Origin, World};
use countersign_core::principal::Caller;
use countersign_core::refusal::Refusal;
use countersign_core::stages::StageAnswer;

use crate::Engine;

impl Engine {
    /// The call that would be made, and every stage's answer in order. The permit for it is spent here, so that
    /// nothing can reach a server by it (I1).
    ///
    /// # Errors
    /// The refusal that the caller would be told.
    pub fn weigh(
        &self,
        world: &World,
        caller: &Caller,
        ask: Ask,
        origin: Origin,
    ) -> Result<(ExactCall, Vec<StageAnswer>), Refusal> {
        let judged = admit::judge(world, caller, ask, origin)?;
        Ok(self.settle(world, judged).into_parts())
    }
}
