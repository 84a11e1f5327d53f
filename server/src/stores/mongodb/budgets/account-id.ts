import { hash } from 'node:crypto'
import type { AccountKey } from '@countersign/contract'
import { accountText } from '../../../ports/store/accounts.js'

export function accountKeyOf(text: string): AccountKey {
  const [policy_id, unit, period, agent_id, starts_at] = JSON.parse(text) as [
    string,
    string,
    AccountKey['period'],
    string | null,
    string | null,
  ]
  return { policy_id, unit, period, agent_id, starts_at }
}

/**
 * The id of an account's document, and the name of its lines in decisions: a hash, because accounts name units and
 * agents.
 */
export function accountId(account: AccountKey): string {
  return textId(accountText(account))
}

export function textId(text: string): string {
  return hash('sha256', text, 'base64url')
}
