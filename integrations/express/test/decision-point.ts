import { Countersign } from '@countersign/client'
import * as testkit from '@countersign/testkit/enforcement-suite'

export interface DecisionPoint {
  readonly url: string
  /** Whose key may do everything. */
  readonly admin: Countersign
  stop(): Promise<void>
}

export async function startDecisionPoint(env?: NodeJS.ProcessEnv): Promise<DecisionPoint> {
  const { url, apiKey, stop } = await testkit.startDecisionPoint(env)
  return { url, admin: new Countersign({ baseUrl: url, apiKey }), stop }
}
