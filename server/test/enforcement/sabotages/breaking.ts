/** In what ways a sound guard is broken. */
import { DeniedError, type EnforcementEvent } from '@countersign/client'
import type { EnforcementAdapter, GuardedCall, Sabotage } from '@countersign/testkit/enforcement-suite'
import { givenOf, guardAdapter, guardWay, type PlainCall, type PlainWay, plainAdapter } from '../plain-functions.js'

type Options = PlainCall['options']

interface BrokenWay extends Pick<Sabotage, 'what' | 'caughtBy' | 'neverComes'> {
  readonly way: PlainWay
  /** What the way was made of. Default: `client.guard`. */
  readonly sound?: EnforcementAdapter
}

export function sabotagesBy(ways: readonly BrokenWay[]): readonly Sabotage[] {
  return ways.map(({ way, sound = guardAdapter, ...rest }) => {
    return { ...rest, sound, broken: plainAdapter(`a guard that ${rest.what}`, way) }
  })
}

/** Runs all the same, as it was called. */
export function inSpiteOf(isIgnored: (denied: DeniedError) => boolean, sound: PlainWay = guardWay): PlainWay {
  return async (calling) => {
    try {
      return await sound(calling)
    } catch (error) {
      if (!DeniedError.isInstance(error) || !isIgnored(error)) throw error
      return (await calling.act(givenOf(calling.call))).value
    }
  }
}

export function withOptions(options: Options, sound: PlainWay = guardWay): PlainWay {
  return (calling) => sound({ ...calling, options: { ...calling.options, ...options } })
}

type Acting = () => ReturnType<PlainCall['act']>

export function withAct(broken: (act: Acting) => ReturnType<PlainCall['act']>): PlainWay {
  return (calling) => guardWay({ ...calling, act: (given) => broken(() => calling.act(given)) })
}

/** Makes another call. */
export function withCall(change: (call: GuardedCall) => GuardedCall): PlainWay {
  return ({ call, ...calling }) => guardWay({ ...calling, call: change(call) })
}

/** Tells of each event another one, or of none. */
export function telling(broken: (event: EnforcementEvent) => EnforcementEvent | undefined): PlainWay {
  return (calling) => {
    const onEvent = (event: EnforcementEvent): void => {
      const told = broken(event)
      if (told !== undefined) calling.options.onEvent?.(told)
    }
    return withOptions({ onEvent })(calling)
  }
}

/** What a guard was told of while it ran. */
export async function overhearing<Result>(
  calling: PlainCall,
  use: (events: readonly EnforcementEvent[], sound: () => Promise<unknown>) => Promise<Result>,
): Promise<Result> {
  const events: EnforcementEvent[] = []
  const hear = (event: EnforcementEvent): EnforcementEvent => {
    events.push(event)
    return event
  }
  return use(events, () => telling(hear)(calling))
}
