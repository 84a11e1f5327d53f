/** The actions for a stored policy. Those that affect the next request ask for confirmation. */
import type { Policy } from '@countersign/contract'
import { ActionIcon, Menu } from '@mantine/core'
import { KebabHorizontalIcon } from '@primer/octicons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { replacePolicy } from '../../api/policies'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Dialog } from '../../components/dialog'
import { visibleText } from '../../components/invisible'
import { DeletePolicy } from './delete-policy'
import { setMember } from './edit-text'
import { policyText } from './policy-text'

export interface PolicyMenuProps {
  readonly policy: Policy
  readonly isDirty: boolean
  readonly onSaved: (policy: Policy) => void
}

export function PolicyMenu({ policy, isDirty, onSaved }: PolicyMenuProps) {
  const [asked, setAsked] = useState<'toggle' | 'delete' | null>(null)
  const navigate = useNavigate()
  const { id, enabled, revision } = policy
  const name = visibleText(policy.name)
  const verb = enabled ? 'Disable' : 'Enable'
  const close = () => setAsked(null)
  const toggle = async () =>
    onSaved(await replacePolicy(id, setMember(policyText(policy), [], 'enabled', !enabled), revision))
  return (
    <>
      <Menu position="bottom-end" width={240} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <ActionIcon variant="default" size="lg" aria-label="More">
            <KebabHorizontalIcon size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {isDirty && <Menu.Label>{verb} it after you have saved or discarded your changes.</Menu.Label>}
          <Menu.Item disabled={isDirty} onClick={() => setAsked('toggle')}>
            {verb}
          </Menu.Item>
          <Menu.Item onClick={() => void navigate({ to: '/policies/new', search: { copy: id } })}>
            Copy to a new policy
          </Menu.Item>
          <Menu.Item onClick={() => setAsked('delete')}>Delete</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        title={`${verb} ${name}?`}
        opened={asked === 'toggle'}
        onClose={close}
        action={verb}
        run={toggle}
        isDangerous={enabled}
      >
        {enabled
          ? 'It stops applying from the next request. Requests that only this policy allowed are denied; requests that only it denied may be allowed by another policy.'
          : 'It applies from the next request.'}
      </ConfirmDialog>
      <Dialog title={`Delete ${name}?`} opened={asked === 'delete'} onClose={close}>
        <DeletePolicy policy={policy} onClose={close} />
      </Dialog>
    </>
  )
}
