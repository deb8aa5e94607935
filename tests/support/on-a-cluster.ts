import { beforeAll, inject } from "vitest";
import { CLUSTER_EXCEPTIONS } from "./cluster-exceptions.ts";

interface Task {
  name: string;
  fails?: boolean | undefined;
  tasks?: Task[];
}

/** On a cluster a test that is named as an exception has to fail, so that none is named for longer than it must be. */
beforeAll((_, { file }) => {
  if (inject("workers").length === 0) return;
  for (const { tests } of CLUSTER_EXCEPTIONS.filter((one) => one.file === file.name)) {
    const named = testsOf(file.tasks).filter(({ name }) => tests.test(name));
    if (named.length === 0) throw new Error(`${file.name} has no test ${tests}`);
    for (const test of named) test.fails = true;
  }
});

function testsOf(tasks: Task[]): Task[] {
  return tasks.flatMap((task) => (task.tasks ? testsOf(task.tasks) : [task]));
}
