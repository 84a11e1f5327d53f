import type { AccountKey } from '@countersign/contract'
import type { Posting, StoredAccount } from '@countersign/store-port/documents'
import { accountText } from './account-text.js'
import type { Connection } from './driver.js'
import { readAccount, writeAccount } from './tables/accounts.js'

interface Movement {
  readonly account: AccountKey
  spent: bigint
  reserved: bigint
}

/** What the decisions of a group move: summed up, so that each account is written once, however many move it. */
export class Movements {
  readonly #byAccount = new Map<string, Movement>()

  /** A decision counts for `after` from now on, and no more for `before`. */
  add(before: readonly Posting[], after: readonly Posting[]): void {
    for (const { account, spent, reserved } of before) this.#move(account, -BigInt(spent), -BigInt(reserved))
    for (const { account, spent, reserved } of after) this.#move(account, BigInt(spent), BigInt(reserved))
  }

  /** The accounts as they are after that. */
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
