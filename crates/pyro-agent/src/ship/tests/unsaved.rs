//! What was taken cannot be remembered.

use std::io::ErrorKind;

use super::joined::whole;
use super::world::World;

/// Lines that fill more than a page.
fn lines(letter: u8) -> Vec<u8> {
    [vec![letter; 999], b"\n".to_vec()].concat().repeat(10)
}

#[test]
fn what_is_not_remembered_is_neither_put_nor_given_back() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("x.log", &lines(b'a'));
    shipper.round(false);
    let puts = world.0.borrow().puts;
    world.0.borrow_mut().unsaved = Some(ErrorKind::StorageFull);
    world.append("x.log", &lines(b'b'));
    for _ in 0..3 {
        world.wait(60);
        let round = shipper.round(false);
        assert!(round.waiting && round.unsaved);
    }
    assert_eq!(world.0.borrow().puts, puts);
    assert_eq!(world.0.borrow().files["x.log"].freed_to, 0);
    assert!(shipper.report().last_problem.is_some());
    world.0.borrow_mut().unsaved = None;
    world.wait(60);
    assert!(!shipper.round(false).unsaved);
    assert_eq!(world.0.borrow().files["x.log"].freed_to, 8192);
    assert_eq!(whole(&world, "x.log"), [lines(b'a'), lines(b'b')].concat());
}

#[test]
fn a_shipper_that_is_killed_then_leaves_nothing_there_twice() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("x.log", &lines(b'a'));
    shipper.round(false);
    world.0.borrow_mut().unsaved = Some(ErrorKind::StorageFull);
    world.append("x.log", &lines(b'b'));
    world.wait(60);
    shipper.round(false);
    assert_eq!(world.0.borrow().store.len(), 1, "what may be cut anew");
    world.0.borrow_mut().unsaved = None;
    world.append("x.log", &lines(b'c'));
    world.wait(60);
    let mut next = world.shipper();
    next.round(true);
    let text = [lines(b'a'), lines(b'b'), lines(b'c')].concat();
    assert_eq!(whole(&world, "x.log"), text);
}

#[test]
fn without_a_folder_all_is_put_as_nobody_goes_on_from_there() {
    let world = World::default();
    let mut shipper = world.shipper();
    world.append("x.log", &lines(b'a'));
    world.0.borrow_mut().unsaved = Some(ErrorKind::NotFound);
    let round = shipper.round(true);
    assert!(!round.waiting && !round.unsaved);
    assert_eq!(whole(&world, "x.log"), lines(b'a'));
}
