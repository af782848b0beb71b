topic source0
title returnAfterHandled performs only the first signalled source per run
trace callouts
source0 A order=1
source0 B order=2
source0 C order=3
add A default; add B default; add C default
signal C; signal B; signal A
run default 1 yes
signalled B
run default 1 yes
run default 1 yes
run default 0.03 yes
--- golden
run default
source0 A mode=default
ran default HANDLED
signalled B = yes
run default
source0 B mode=default
ran default HANDLED
run default
source0 C mode=default
ran default HANDLED
run default
ran default TIMEDOUT
end
