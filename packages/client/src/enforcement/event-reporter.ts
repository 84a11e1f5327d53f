/**
 * Reports events to a listener that can hold up nothing, neither by throwing nor by a promise that rejects. Events are frozen. For
 * integrations with events of their own.
 */
export function eventReporter<Event extends object>(onEvent: (event: Event) => unknown): (event: Event) => void {
  return (event) => {
    try {
      void Promise.resolve(onEvent(Object.freeze(event))).catch(() => undefined)
    } catch {
      // Faults of the listener do not matter here.
    }
  }
}
