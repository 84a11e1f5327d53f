/** A whole integration, for a framework that is made up: what CONTRIBUTING.md shows, and the enforcement suite runs. */
import { type GuardRun, refusalForModel } from '@countersign/client'
import { runToolCall, type ToolGuardOptions, toolGuard } from '@countersign/client/kernel'

/** What the framework has. */
export interface Tool {
  readonly name: string
  run(args: unknown, call: ToolCall, guarded?: GuardRun): Promise<ToolResult>
}
export interface ToolCall {
  readonly name: string
  /** Stable over a pause and a restart. Undefined for calls outside of a thread. */
  readonly threadAndId?: string | undefined
  readonly user: unknown
  readonly signal?: AbortSignal | undefined
}
export interface ToolResult {
  readonly text: string
  readonly isError?: boolean
}
export class Interrupt extends Error {}

/** The option `review`, and the one of the enforcement point that it stands for. The first one is the default. */
const REVIEWS = { deny: 'throw', wait: 'wait' } as const

export type GuardToolsOptions = ToolGuardOptions<ToolCall, keyof typeof REVIEWS>

/** The same tools. Each runs only on a decision that permits the call. @throws TypeError naming the faulty option */
export function guardTools(tools: readonly Tool[], options: GuardToolsOptions): Tool[] {
  const guard = toolGuard('guardTools', options, REVIEWS)
  return tools.map((tool) => ({
    name: tool.name,
    run: (args, call) =>
      runToolCall<ToolCall, ToolResult>(guard, {
        ...{ call, args, signal: call.signal },
        step: call.threadAndId === undefined ? undefined : { names: [call.threadAndId] },
        run: (held, guarded) => tool.run(held, call, guarded),
        outcome: ({ isError, text }) => (isError ? { kind: 'failed', error: text } : undefined),
        isPause: (error) => error instanceof Interrupt,
        quote: (result, words) => ({ ...result, text: `${result.text}\n\n${words}` }),
        refuse: (denied) => ({ isError: true, text: refusalForModel(denied), denied }),
      }),
  }))
}
