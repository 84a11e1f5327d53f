/** The one source of time. Within a process it never goes back. */
export interface Clock {
  now(): Date
}
