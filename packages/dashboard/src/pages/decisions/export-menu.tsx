import { Button, Group, Menu, Text } from '@mantine/core'
import { DownloadIcon } from '@primer/octicons-react'
import { useState } from 'react'
import type { DecisionFilters } from '../../api/decisions'
import { exportDecisions } from './export'

/** Downloads the decisions that match the filters. */
export function ExportMenu({ filters }: { readonly filters: DecisionFilters }) {
  const [state, setState] = useState('')
  const [isReading, setReading] = useState(false)
  const run = async (format: 'csv' | 'ndjson') => {
    setReading(true)
    setState('Reading …')
    try {
      const { count, isComplete } = await exportDecisions(filters, format, (read) => setState(`${read} read …`))
      setState(isComplete ? `${count} exported` : `The newest ${count} exported`)
    } catch (error) {
      setState(error instanceof Error ? error.message : 'The export failed')
    }
    setReading(false)
  }
  return (
    <Group gap="xs">
      <Text size="sm" className="quiet" role="status">
        {state}
      </Text>
      <Menu position="bottom-end" transitionProps={{ duration: 0 }} disabled={isReading}>
        <Menu.Target>
          <Button variant="default" leftSection={<DownloadIcon size={16} />} disabled={isReading}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => void run('csv')}>CSV, for a spreadsheet</Menu.Item>
          <Menu.Item onClick={() => void run('ndjson')}>JSON Lines, with all fields</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  )
}
