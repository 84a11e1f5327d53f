import type { Policy } from '@countersign/contract'
import { prettyJson } from '../../components/json/pretty-json'

/** A policy as one writes it: without what the server adds. */
export function policyText(policy: Policy): string {
  const { id, revision, created_at, updated_at, created_by, warnings, ...document } = policy
  return `${prettyJson(document)}\n`
}

/** What a new policy starts with. The form and the list of errors say what is missing. */
export const NEW_POLICY = `${prettyJson({
  name: '',
  rules: [{ action: 'payment.refund', effect: 'review', reason: 'A person has to look at this.' }],
})}\n`
