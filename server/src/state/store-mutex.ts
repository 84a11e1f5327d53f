import { KeyedMutex } from '@countersign/concurrency'
import { StoreUnavailableError } from '@countersign/store-port/store'

/** More transitions of one decision at a time than this are no ordinary load. */
const MAX_TASKS = 1000

/**
 * A keyed mutex for work on the store. Without it, concurrent transitions of one decision would each meet the version of
 * the other as a conflict, and a mutation in conflict splits its whole group. When the store fails one task, the tasks that
 * wait for it fail too.
 */
export class StoreMutex extends KeyedMutex {
  constructor() {
    super({
      maxTasks: MAX_TASKS,
      tooManyError: () => new StoreUnavailableError('Too many calls wait for the same object.'),
      failsWaiting: (error) => error instanceof StoreUnavailableError,
    })
  }
}
