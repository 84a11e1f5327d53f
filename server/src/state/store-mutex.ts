import { KeyedMutex } from '../concurrency/keyed-mutex.js'
import { StoreUnavailableError } from '../ports/store/errors.js'

/** More concurrent transitions of one decision than this are not an ordinary load. */
const MAX_TASKS = 1000

/**
 * A keyed mutex for work on the store. Without it, concurrent transitions of one decision would conflict on its
 * version, and a conflicting mutation splits its whole group. When the store fails one task, the tasks that wait for it
 * fail too.
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
