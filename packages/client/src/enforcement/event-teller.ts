/**
 * Tells a listener so that it can hold up nothing: neither by throwing nor by a promise that rejects. Events are frozen. For
 * integrations that have events of their own.
 */
export function eventTeller<Event extends object>(onEvent: (event: Event) => unknown): (event: Event) => void {
  return (event) => {
    try {
      void Promise.resolve(onEvent(Object.freeze(event))).catch(() => undefined)
    } catch {
      // Its own affair.
    }
  }
}
