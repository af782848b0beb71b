topic query
title Properties of timers
slow 2
timer A delay=100 interval=250
timer B delay=100
interval A; repeats A; interval B; repeats B; valid A; valid B
--- golden
interval A = 250
repeats A = yes
interval B = 0
repeats B = no
valid A = yes
valid B = yes
end
