//! Spark's names of task threads.

/// What `Executor task launch worker for task 3.0 in stage 5.0 (TID 12)` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskName {
    /// Stage.
    pub stage_id: i64,
    /// Stage attempt.
    pub stage_attempt: i32,
    /// Spark's TID.
    pub task_attempt_id: i64,
}

/// Reads the task out of a thread's name. A thread keeps the name of its last task when that has
/// ended, and recordings keep only the last name of a thread: the name is a check, not a clock.
pub fn task_of_thread(name: &str) -> Option<TaskName> {
    let rest = name.strip_prefix("Executor task launch worker for task ")?;
    let (_, rest) = rest.split_once(" in stage ")?;
    let (stage, rest) = rest.split_once(" (TID ")?;
    let (stage_id, stage_attempt) = stage.split_once('.')?;
    Some(TaskName {
        stage_id: stage_id.parse().ok()?,
        stage_attempt: stage_attempt.parse().ok()?,
        task_attempt_id: rest.split_once(')')?.0.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_spark_3_and_4() {
        let name = task_of_thread("Executor task launch worker for task 3.0 in stage 5.1 (TID 12)");
        assert_eq!(
            name,
            Some(TaskName {
                stage_id: 5,
                stage_attempt: 1,
                task_attempt_id: 12
            })
        );
        assert_eq!(task_of_thread("Executor task launch worker-0"), None);
        assert_eq!(
            task_of_thread("Executor task launch worker for task 3.0 in stage x (TID 12)"),
            None
        );
    }
}
