import type { Policy } from '@countersign/contract'
import { prettyJson } from '../../components/json/pretty-json'

/** Writes a policy without the fields that the server adds. */
export function policyText(policy: Policy): string {
  const { id, revision, created_at, updated_at, created_by, warnings, ...document } = policy
  return `${prettyJson(document)}\n`
}

/** The text that a new policy starts with. The form and the error list show what is missing. */
export const NEW_POLICY = `${prettyJson({
  name: '',
  rules: [{ action: 'payment.refund', effect: 'review', reason: 'A person has to look at this.' }],
})}\n`
