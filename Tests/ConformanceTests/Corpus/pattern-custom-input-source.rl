topic pattern
title A command source: commands are collected, then signalled and performed together
slow 2
source0 Cmd sched
at 40: signal Cmd; wake
at 80: signal Cmd; signal Cmd; wake
on Cmd #2: stop
add Cmd default
run default 2 no
remove Cmd default
--- golden
schedule Cmd mode=default loop=A
run default
source0 Cmd mode=default
source0 Cmd mode=default
ran default STOPPED
cancel Cmd mode=default loop=A
end
