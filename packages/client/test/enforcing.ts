/** For tests of enforcement: a stub whose decisions change, an action that counts its runs, and what was told. */
import { type StubAnswer, type StubLifecycle, startStubLifecycle } from '@countersign/testkit'
import type { DeniedError, Effect, EnforcementEvent } from '../src/index.js'
import { DeniedError as Denied } from '../src/index.js'
import { type Rig, rejectionOf } from './transports.js'

export const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' } as const

/** The stub of a rig answers as a decision point that decides so. */
export function deciding({ stub }: Pick<Rig, 'stub'>, effect: Effect): StubLifecycle {
  const lifecycle = startStubLifecycle(() => effect)
  stub.answer(lifecycle.answer)
  return lifecycle
}

/** Answers a request whose path ends so in another way, this many times or always; all else as the lifecycle does. */
export function except(
  lifecycle: StubLifecycle,
  ending: string,
  other: StubAnswer,
  times = Number.POSITIVE_INFINITY,
): StubAnswer {
  let left = times
  return (request, response) => {
    const isOther = new URL(request.url, 'http://stub').pathname.endsWith(ending) && left > 0
    if (isOther) left -= 1
    const answer = isOther ? other : lifecycle.answer
    answer(request, response)
  }
}

/** What an enforcement point was heard to tell. */
export function listener() {
  const events: EnforcementEvent[] = []
  return {
    events,
    onEvent: (event: EnforcementEvent): void => void events.push(event),
    types: () => events.map(({ type }) => type),
  }
}

/** The DeniedError that a promise rejects with. */
export async function denialOf(promise: Promise<unknown>): Promise<DeniedError> {
  const error = await rejectionOf(promise)
  if (Denied.isInstance(error)) return error
  throw error
}

/** What the decision point was told, as path and body. */
export function told(stub: Rig['stub']): readonly (readonly [transition: string, body: unknown])[] {
  return stub.requests
    .filter(({ url }) => /\/(confirm|reject)$/.test(url))
    .map(({ url, body }) => [url.split('/').at(-1) ?? '', JSON.parse(body)] as const)
}
