//! Table tests of the state machine.
