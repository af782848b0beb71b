topic source0
title A source0 signalled before a run of a custom common mode is performed at once
trace callouts
source0 S
addcommon mainCustomMode
add S mainCustomMode; signal S
on S: stop
run mainCustomMode 10000 no
--- golden
run mainCustomMode
source0 S mode=mainCustomMode
ran mainCustomMode STOPPED
end
