import type { AccountKey } from '@countersign/contract'
import { accountText } from '../../ports/store/accounts.js'
import type { Posting, StoredAccount } from '../../ports/store/documents.js'
import type { Connection } from './driver.js'
import { readAccount, writeAccount } from './tables/accounts.js'

interface Movement {
  readonly account: AccountKey
  spent: bigint
  reserved: bigint
}

/** The movements of a group of decisions: summed up, so that each account is written once. */
export class Movements {
  readonly #byAccount = new Map<string, Movement>()

  /** From now on a decision counts `after` instead of `before`. */
  add(before: readonly Posting[], after: readonly Posting[]): void {
    for (const { account, spent, reserved } of before) this.#move(account, -BigInt(spent), -BigInt(reserved))
    for (const { account, spent, reserved } of after) this.#move(account, BigInt(spent), BigInt(reserved))
  }

  /** Returns the accounts in their new state. */
  write(db: Connection): readonly StoredAccount[] {
    return [...this.#byAccount.values()].map(({ account, spent, reserved }) => {
      const before = readAccount(db, account)
      const after = {
        ...before,
        spent: String(BigInt(before.spent) + spent),
        reserved: String(BigInt(before.reserved) + reserved),
      }
      writeAccount(db, after)
      return after
    })
  }

  #move(account: AccountKey, spent: bigint, reserved: bigint): void {
    const text = accountText(account)
    let movement = this.#byAccount.get(text)
    if (movement === undefined) {
      movement = { account, spent: 0n, reserved: 0n }
      this.#byAccount.set(text, movement)
    }
    movement.spent += spent
    movement.reserved += reserved
  }
}
