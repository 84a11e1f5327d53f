import {
  readWebhookChecks,
  SeenWebhooks,
  WEBHOOK_TYPES,
  type WebhookEvent,
  type WebhookEventData,
  type WebhookEventOf,
} from '@countersign/client/webhook'
import { checkKnown, checkOne, isFunctionOrNone } from './option-checks.js'
import { warnOfWebhookFaults } from './webhook-faults.js'

/** Handlers by event type. An event is handled when the promise of its handler resolves. */
export type WebhookHandlers = {
  readonly [Type in keyof WebhookEventData]?: ((event: WebhookEventOf<Type>) => unknown) | undefined
}

/**
 * Remembers the events that were handled. A store can share them among several processes; each receiver needs its own
 * memory.
 */
export interface HandledWebhooks {
  /** Whether the event was handled. Throws or rejects when it cannot tell: the server then sends the event again. */
  has(id: string): boolean | Promise<boolean>
  /** Records an event as handled, until a time in milliseconds since 1970. */
  add(id: string, untilMs: number): unknown
}

/** How a route handles the webhooks that it receives. */
export interface WebhookReceiverOptions {
  /** The secret of the webhook, `whsec_…`; several while it is being rotated. */
  readonly secret: string | readonly string[]
  /** The handler of each type of event. */
  readonly on: WebhookHandlers
  /** Handles every other event, including those of a newer server. When omitted, they are just answered 204. */
  readonly otherwise?: ((event: WebhookEvent) => unknown) | undefined
  /** Default: a memory of this process, for this receiver, of 100,000 events. */
  readonly seen?: HandledWebhooks | undefined
  /**
   * Called with the reason why a delivery was not answered 204, or could not be recorded: `event` is null for one that
   * does not verify. Errors that it throws are ignored. Without it, faults that only the operator can fix become
   * process warnings, once per process and kind.
   */
  readonly onError?: ((error: unknown, event: WebhookEvent | null) => unknown) | undefined
  /** How far the time of sending may be from now, either way. Default 300. */
  readonly toleranceSeconds?: number | undefined
  /** The clock, in milliseconds since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined
}

/** The options with defaults filled in. */
export interface WebhookReceiverSettings {
  readonly check: Pick<WebhookReceiverOptions, 'secret' | 'toleranceSeconds' | 'now'>
  /** Returns the handler of this event; undefined: none. */
  readonly handlerOf: (event: WebhookEvent) => ((event: WebhookEvent) => unknown) | undefined
  readonly seen: HandledWebhooks
  readonly now: () => number
  /** Never throws. */
  readonly report: (error: unknown, event: WebhookEvent | null) => void
  /** Called for every delivery that verifies. */
  readonly noteVerified: () => void
}

const KNOWN_OPTIONS = [
  'secret',
  'on',
  'otherwise',
  'seen',
  'onError',
  'toleranceSeconds',
  'now',
] as const satisfies readonly (keyof WebhookReceiverOptions)[]

/** @throws TypeError naming the faulty option */
export function readReceiverOptions(options: WebhookReceiverOptions): WebhookReceiverSettings {
  const given = checkKnown('webhookReceiver', options, KNOWN_OPTIONS)
  const { secret, on, otherwise, onError, toleranceSeconds, now = Date.now } = given
  readWebhookChecks({ secret, toleranceSeconds, now })
  const { seen = new SeenWebhooks({ now }) } = given
  checkOne('on', typeof on === 'object' && on !== null, 'an object of functions, by the type of the event')
  const handlers = new Map<string, unknown>(Object.entries(on))
  for (const [type, handler] of handlers) {
    checkOne(`on['${type}']`, isFunctionOrNone(handler), 'a function')
    // A handler of a misspelt type would never run, and its events would be answered 204.
    const isKnown = (WEBHOOK_TYPES as readonly string[]).includes(type)
    checkOne(
      `on['${type}']`,
      isKnown,
      'omitted, because this is not a type of event; `otherwise` gets those of a newer server',
    )
  }
  checkOne('otherwise', isFunctionOrNone(otherwise), 'a function')
  checkOne('onError', isFunctionOrNone(onError), 'a function')
  checkOne('seen', typeof seen?.has === 'function' && typeof seen.add === 'function', 'a memory with has and add')
  const faults = warnOfWebhookFaults()
  return {
    check: { secret, toleranceSeconds, now },
    handlerOf: ({ type }) =>
      (handlers.get(String(type)) ?? otherwise) as ReturnType<WebhookReceiverSettings['handlerOf']>,
    seen,
    now,
    report: quietly(onError ?? faults.report),
    noteVerified: faults.noteVerified,
  }
}

/** A listener cannot stop anything, neither by throwing nor by a rejected promise. */
function quietly(listener: WebhookReceiverSettings['report']): WebhookReceiverSettings['report'] {
  return (error, event) => {
    try {
      void Promise.resolve(listener(error, event)).catch(() => undefined)
    } catch {
      // Errors of the listener are ignored.
    }
  }
}
