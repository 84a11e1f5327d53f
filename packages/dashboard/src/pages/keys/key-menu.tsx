import type { ApiKey } from '@countersign/contract'
import { ActionIcon, Menu } from '@mantine/core'
import { KebabHorizontalIcon } from '@primer/octicons-react'
import { visibleText } from '../../components/invisible'
import { useNow } from '../../components/time'
import { useMay, useSession } from '../../session'
import { stateOf } from './key-state'
import { whyTooWide } from './scopes'

export type KeyDeed = 'show' | 'rotate' | 'revoke'

export interface KeyMenuProps {
  readonly apiKey: ApiKey
  readonly onDeed: (deed: KeyDeed) => void
}

/** The actions for one key. */
export function KeyMenu({ apiKey, onDeed }: KeyMenuProps) {
  const may = useMay()
  const { key: own } = useSession()
  const state = stateOf(apiKey, useNow())
  const isOver = state === 'expired' || state === 'revoked'
  const refusal = may('keys:write') ? whyTooWide(own, apiKey) : 'Your key is missing keys:write'
  return (
    <Menu position="bottom-end" width={230} transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${visibleText(apiKey.name)}`}>
          <KebabHorizontalIcon size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onDeed('show')}>Show details</Menu.Item>
        <Menu.Item onClick={() => onDeed('rotate')} disabled={isOver || refusal !== null}>
          Rotate the secret
        </Menu.Item>
        <Menu.Item onClick={() => onDeed('revoke')} disabled={state === 'revoked' || refusal !== null}>
          Revoke
        </Menu.Item>
        {refusal !== null && <Menu.Label>{refusal}.</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  )
}
