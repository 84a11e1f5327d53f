import { Stack, Switch, Table } from '@mantine/core'
import { Dialog } from '../../components/dialog'
import { KEY_HELP } from './keys'

export interface KeysDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly isOn: boolean
  readonly onSwitch: (isOn: boolean) => void
}

/** The keyboard shortcuts of the queue, with a switch that turns them off. */
export function KeysDialog({ isOpen, onClose, isOn, onSwitch }: KeysDialogProps) {
  return (
    <Dialog title="Keyboard shortcuts" opened={isOpen} onClose={onClose}>
      <Stack>
        <Table aria-label="Keyboard shortcuts">
          <Table.Tbody>
            {KEY_HELP.map(([keys, what]) => (
              <Table.Tr key={keys}>
                <Table.Th scope="row" className="mono" style={{ whiteSpace: 'nowrap' }}>
                  {keys}
                </Table.Th>
                <Table.Td>{what}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Switch
          label="Use keyboard shortcuts"
          description="They are off while you type in a field."
          checked={isOn}
          onChange={(event) => onSwitch(event.currentTarget.checked)}
        />
      </Stack>
    </Dialog>
  )
}
