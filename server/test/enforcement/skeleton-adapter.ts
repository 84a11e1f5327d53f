import { Countersign, type DeniedError } from '@countersign/client'
import { type EnforcementAdapter, type GuardedCall, saysFailure } from '@countersign/testkit/enforcement-suite'
import { type GuardToolsOptions, guardTools, Interrupt, type Tool, type ToolResult } from './skeleton-integration.js'

const NO_KEY = 'a call is named by its thread, and by no key of the caller'

/** The integration that CONTRIBUTING.md shows, for the enforcement suite. */
export const skeletonAdapter: EnforcementAdapter = {
  name: 'a tool of the framework in CONTRIBUTING.md',
  doesNotApply: {
    'gives an agent a gated resource only if the policies allow its reading, once, and settles that':
      'an agent reads by tools alone',
    'runs one of two calls that are made with one key at once': NO_KEY,
    'does not run again what was confirmed, for the same key and another process': NO_KEY,
    'does not run again what was rejected, for the same key and another process': NO_KEY,
    'runs in one of four processes that race for one approved decision, each of them twice': NO_KEY,
    'leaves open what never ends after its caller has left': 'a tool that never ends has no result to settle by',
  },
  open({ baseUrl, apiKey, options: { review = 'throw', ...options }, act }) {
    const client = new Countersign({ baseUrl, apiKey, timeoutMs: 60_000, connectTimeoutMs: 60_000 })
    const passed = new Map<string | undefined, number>()
    const tool: Tool = {
      name: 'act',
      async run(args, { threadAndId }, guarded) {
        let pauses = 0
        const interrupt = () => {
          pauses += 1
          if (pauses <= (passed.get(threadAndId) ?? 0)) return
          passed.set(threadAndId, pauses)
          throw new Interrupt()
        }
        const { value, amount } = await act(args as never, interrupt)
        if (amount !== undefined) guarded?.setAmount(amount)
        return { text: JSON.stringify(value), isError: saysFailure(value) }
      },
    }
    const settings: GuardToolsOptions = {
      ...options,
      client,
      review: review === 'wait' ? 'wait' : 'deny',
      agentId: ({ user }) => (user as GuardedCall).agent_id,
      map: { act: (_args, { user }) => mapped(user as GuardedCall) },
    }
    const [safe] = guardTools([tool], settings)
    return {
      async call(call) {
        const { resource, context, thread, signal } = call
        call.signal?.addEventListener('abort', call.onLeft)
        const args = { resource, context: structuredClone(context) }
        call.onArguments(args.context)
        const running = safe?.run(args, { name: 'act', threadAndId: thread, user: call, signal })
        try {
          return outcomeOf((await running) as ToolResult)
        } catch (error) {
          if (error instanceof Interrupt) return { kind: 'paused' }
          if (signal?.aborted && error === signal.reason) return { kind: 'aborted' }
          return { kind: 'failed', error, shown: String(error) }
        }
      },
      flush: (timeoutMs) => client.flush({ timeoutMs }),
      close: () => client.close(),
    }
  },
}

function mapped({ mapping, action, resource, context }: GuardedCall) {
  if (mapping === 'throws') throw new Error('there is no such order')
  return {
    action: mapping === 'unmapped' ? undefined : action,
    resource: mapping === 'misspelt' ? `order:${context.ordr}` : resource,
    context,
  }
}

function outcomeOf(result: ToolResult & { readonly denied?: DeniedError }) {
  const { denied, text } = result
  if (denied === undefined)
    return { kind: 'value', value: JSON.parse(text.split('\n\n')[0] ?? ''), shown: text } as const
  const { reason, decision_id } = denied
  return { kind: 'denied', reason, decision_id, shown: text } as const
}
