topic perform
title The pass of a perform polls; one in a nested run ends that run alone
source1 P
observer O before-waiting|after-waiting|exit
block K
block L
on K : performsource L default ; run default 1 yes
add P default ; add O default
performsource K default
run default 0.05 no
--- right
run default
block K mode=default
run default
block L mode=default
observer O exit mode=default
ran default HANDLED
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
